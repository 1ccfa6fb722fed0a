// build.rs - where libslice is: SLICE_LIB_DIR, or what pkg-config says
//
// SPDX-License-Identifier: MIT

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=SLICE_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    println!("cargo:rustc-link-lib=slice");
    if let Ok(folder) = env::var("SLICE_LIB_DIR") {
        println!("cargo:rustc-link-search=native={folder}");
        return;
    }
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let said = Command::new(program)
        .args(["--libs-only-L", "--atleast-version=0.1", "slice"])
        .output();
    // Without pkg-config the linker's own folders are left, where a system's
    // package is.
    if let Ok(said) = said {
        for word in String::from_utf8_lossy(&said.stdout).split_whitespace() {
            if let Some(folder) = word.strip_prefix("-L") {
                println!("cargo:rustc-link-search=native={folder}");
            }
        }
    }
}
