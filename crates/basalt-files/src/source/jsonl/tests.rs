// SPDX-License-Identifier: Apache-2.0
use super::super::tests::{OnError, loaded, target};

#[test]
fn keys_are_columns_and_what_is_missing_is_null() {
    let text = "{\"k\":1,\"V\":\"x\"}\n\n{\"V\":null,\"K\":2,\"D\":1.25}\n";
    assert_eq!(loaded("a.jsonl", text, &target(), OnError::Stop).rows, ["1,,x", "2,1.25,"]);
}

#[test]
fn bad_lines_are_named() {
    let text =
        "{\"K\":1}\n{\"K\":\"x\"}\n{\"K\":3,\"W\":1}\n{\"D\":1}\n{\"K\":4,\"K\":4}\nnothing\n{\"K\":5}\n";
    let loaded = loaded("a.jsonl", text, &target(), OnError::Reject);
    assert_eq!(loaded.rows, ["1,,", "5,,"]);
    assert_eq!(
        loaded.rejected,
        "# a.jsonl, line 2, column K: 'x' is not an INTEGER\n{\"K\":\"x\"}\n\
         # a.jsonl, line 3: has a key W, which the table has not; did you mean K?\n{\"K\":3,\"W\":1}\n\
         # a.jsonl, line 4, column K: is NULL, but part of the primary key\n{\"D\":1}\n\
         # a.jsonl, line 5, column K: is there twice\n{\"K\":4,\"K\":4}\n\
         # a.jsonl, line 6: is not a JSON object: expected '{' at character 1, found 'n'\nnothing\n"
    );
}
