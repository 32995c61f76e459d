//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 5] = [
    File {
        name: "app.9307517b9a7f.css",
        bytes: include_bytes!("../dist/app.9307517b9a7f.css.gz"),
        is_gzip: true,
        content_type: "text/css; charset=utf-8",
        etag: "\"9307517b9a7ff7492a5aacdffc40f73b\"",
        is_hashed: true,
    },
    File {
        name: "app.de8def3e7152.js",
        bytes: include_bytes!("../dist/app.de8def3e7152.js.gz"),
        is_gzip: true,
        content_type: "text/javascript; charset=utf-8",
        etag: "\"de8def3e71529afe215e7e6e2030f05d\"",
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
        etag: "\"e7e4ecd0369a4693ab9e6149bdbb9c3d\"",
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
