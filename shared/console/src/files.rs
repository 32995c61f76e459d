//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 5] = [
    File {
        name: "app.15e5555c6e59.js",
        bytes: include_bytes!("../dist/app.15e5555c6e59.js"),
        gzip: include_bytes!("../dist/app.15e5555c6e59.js.gz"),
        content_type: "text/javascript; charset=utf-8",
        etag: "\"15e5555c6e59d4f45a11996ef7dc6a0a\"",
        is_hashed: true,
    },
    File {
        name: "app.2b7a7ce03688.css",
        bytes: include_bytes!("../dist/app.2b7a7ce03688.css"),
        gzip: include_bytes!("../dist/app.2b7a7ce03688.css.gz"),
        content_type: "text/css; charset=utf-8",
        etag: "\"2b7a7ce036880ac1a3ad52651de880f0\"",
        is_hashed: true,
    },
    File {
        name: "archivo.5f086eb58219.woff2",
        bytes: include_bytes!("../dist/archivo.5f086eb58219.woff2"),
        gzip: &[],
        content_type: "font/woff2",
        etag: "\"5f086eb582194340166de62fee420fa9\"",
        is_hashed: true,
    },
    File {
        name: "index.html",
        bytes: include_bytes!("../dist/index.html"),
        gzip: include_bytes!("../dist/index.html.gz"),
        content_type: "text/html; charset=utf-8",
        etag: "\"1bbab7b9a589344c0c265a6d141aa74f\"",
        is_hashed: false,
    },
    File {
        name: "newsreader.27a104163850.woff2",
        bytes: include_bytes!("../dist/newsreader.27a104163850.woff2"),
        gzip: &[],
        content_type: "font/woff2",
        etag: "\"27a1041638508a5afc0883172e6fa561\"",
        is_hashed: true,
    },
];
