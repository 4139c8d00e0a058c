// SPDX-License-Identifier: Apache-2.0
//! Namespaces: names for tables to be grouped under, with properties that the store keeps and does not read.

use std::collections::BTreeMap;

use basalt_model::table::DEFAULT_NAMESPACE;

use super::Database;
use super::tables::NAME_LEN_MAX;
use crate::error::{Error, Result};
use crate::manifest::Manifest;

/// Properties of a namespace by name.
pub type NamespaceProperties = BTreeMap<String, String>;

impl Database {
    /// Creates a namespace. Tables may also be created in namespaces that do not exist yet.
    pub fn create_namespace(&self, name: &str) -> Result<()> {
        self.create_namespace_with(name, NamespaceProperties::new())
    }

    /// Creates a namespace with properties.
    pub fn create_namespace_with(&self, name: &str, properties: NamespaceProperties) -> Result<()> {
        let shared = self.shared();
        shared.check_writable()?;
        check_namespace(name)?;
        let mut manifest = shared.manifest.lock();
        if manifest.current().namespaces.contains(name) {
            return Err(Error::NamespaceExists { name: name.to_owned() });
        }
        let insert = |manifest: &mut Manifest| {
            manifest.namespaces.insert(name.to_owned());
            manifest.set_namespace_properties(name, properties);
        };
        manifest.change_alone(insert)
    }

    /// Gives a namespace other properties in place of those that it has.
    pub fn set_namespace_properties(&self, name: &str, properties: NamespaceProperties) -> Result<()> {
        let shared = self.shared();
        shared.check_writable()?;
        let mut manifest = shared.manifest.lock();
        if !manifest.current().namespaces.contains(name) {
            return Err(Error::NoSuchNamespace { name: name.to_owned() });
        }
        manifest.change_alone(|manifest| manifest.set_namespace_properties(name, properties))
    }

    /// The properties of a namespace; none if it does not exist.
    pub fn namespace_properties(&self, name: &str) -> NamespaceProperties {
        let manifest = self.shared().manifest.lock();
        manifest.current().namespace_properties.get(name).cloned().unwrap_or_default()
    }

    /// Drops a namespace that holds no tables.
    pub fn drop_namespace(&self, name: &str) -> Result<()> {
        let shared = self.shared();
        shared.check_writable()?;
        let mut manifest = shared.manifest.lock();
        if !manifest.current().namespaces.contains(name) {
            return Err(Error::NoSuchNamespace { name: name.to_owned() });
        }
        let tables = shared.version().names.keys().filter(|table| table.namespace == name).count();
        if tables > 0 || name == DEFAULT_NAMESPACE {
            return Err(Error::NamespaceNotEmpty { name: name.to_owned(), tables });
        }
        let remove = |manifest: &mut Manifest| {
            manifest.namespaces.remove(name);
            manifest.namespace_properties.remove(name);
        };
        manifest.change_alone(remove)
    }

    /// All namespaces, sorted.
    pub fn namespaces(&self) -> Vec<String> {
        self.shared().manifest.lock().current().namespaces.iter().cloned().collect()
    }
}

fn check_namespace(name: &str) -> Result<()> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !(1..=NAME_LEN_MAX).contains(&name.len()) || !name.bytes().all(known) {
        return Err(Error::Invalid(format!(
            "namespace {name:?} must have 1 to {NAME_LEN_MAX} letters, digits and underscores"
        )));
    }
    Ok(())
}
