//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 5] = [
    File {
        name: "app.41ad49789d45.css",
        bytes: include_bytes!("../dist/app.41ad49789d45.css"),
        gzip: include_bytes!("../dist/app.41ad49789d45.css.gz"),
        content_type: "text/css; charset=utf-8",
        etag: "\"41ad49789d45889aff656131749b683d\"",
        is_hashed: true,
    },
    File {
        name: "app.4c8b2c36f59f.js",
        bytes: include_bytes!("../dist/app.4c8b2c36f59f.js"),
        gzip: include_bytes!("../dist/app.4c8b2c36f59f.js.gz"),
        content_type: "text/javascript; charset=utf-8",
        etag: "\"4c8b2c36f59f79d291bcab279bfdac04\"",
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
        etag: "\"0dbe3de8eced6efaa19c390122711a38\"",
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
