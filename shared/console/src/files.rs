//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 5] = [
    File {
        name: "app.3cff1e8f40a6.js",
        bytes: include_bytes!("../dist/app.3cff1e8f40a6.js.gz"),
        is_gzip: true,
        content_type: "text/javascript; charset=utf-8",
        etag: "\"3cff1e8f40a61ed1a132ded4c7fcc2e9\"",
        is_hashed: true,
    },
    File {
        name: "app.a02adf377bb2.css",
        bytes: include_bytes!("../dist/app.a02adf377bb2.css.gz"),
        is_gzip: true,
        content_type: "text/css; charset=utf-8",
        etag: "\"a02adf377bb206af23f542a5c67ad6c7\"",
        is_hashed: true,
    },
    File {
        name: "archivo.5f086eb58219.woff2",
        bytes: include_bytes!("../dist/archivo.5f086eb58219.woff2"),
        is_gzip: false,
        content_type: "font/woff2",
        etag: "\"5f086eb582194340166de62fee420fa9\"",
        is_hashed: true,
    },
    File {
        name: "index.html",
        bytes: include_bytes!("../dist/index.html"),
        is_gzip: false,
        content_type: "text/html; charset=utf-8",
        etag: "\"6026efaf03b2ee3f2c77e7ff18095ae2\"",
        is_hashed: false,
    },
    File {
        name: "newsreader.27a104163850.woff2",
        bytes: include_bytes!("../dist/newsreader.27a104163850.woff2"),
        is_gzip: false,
        content_type: "font/woff2",
        etag: "\"27a1041638508a5afc0883172e6fa561\"",
        is_hashed: true,
    },
];
