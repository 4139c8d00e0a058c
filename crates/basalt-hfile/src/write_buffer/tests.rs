// SPDX-License-Identifier: Apache-2.0

use super::*;

#[test]
fn pieces_of_every_length_are_appended_as_to_a_vector() {
    let source: Vec<u8> = (0..200).map(|at| at as u8 ^ 0x5a).collect();
    let (mut buffer, mut expected) = (WriteBuffer::with_room(1), Vec::new());
    for len in 0..100 {
        buffer.reserve(len + 17);
        buffer.put(&source[len..2 * len]);
        buffer.push(len as u8);
        buffer.put_front([1, 2, 3, 4, 5, 6, 7, 8], len % 9);
        expected.extend_from_slice(&source[len..2 * len]);
        expected.push(len as u8);
        expected.extend_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8][..len % 9]);
        assert_eq!(buffer.as_slice(), expected);
    }
}

#[test]
fn numbers_have_the_bytes_that_a_vector_gets() {
    let numbers = (0..64).flat_map(|bit| [1i64 << bit, (1 << bit) - 1, -(1 << bit), !(1 << bit)]);
    let (mut buffer, mut expected) = (WriteBuffer::default(), Vec::new());
    for number in numbers {
        buffer.reserve(14);
        buffer.put_vlong(number);
        buffer.put_leb(number as u32);
        varint::write_vlong(&mut expected, number);
        varint::write_leb(&mut expected, number as u32);
    }
    assert_eq!(buffer.as_slice(), expected);
}

#[test]
fn a_buffer_that_comes_back_is_empty_and_keeps_its_memory() {
    let mut buffer = WriteBuffer::default();
    buffer.reserve(100);
    buffer.put(&[7; 60]);
    let bytes = buffer.take_vec();
    assert_eq!(bytes, [7; 60]);
    let room = bytes.capacity();
    buffer.take_back(bytes);
    assert_eq!((buffer.len(), buffer.bytes.len()), (0, room));
}
