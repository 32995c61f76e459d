//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 5] = [
    File {
        name: "app.0d1712135efd.js",
        bytes: include_bytes!("../dist/app.0d1712135efd.js"),
        gzip: include_bytes!("../dist/app.0d1712135efd.js.gz"),
        content_type: "text/javascript; charset=utf-8",
        etag: "\"0d1712135efdd6791d722ad26d542a17\"",
        is_hashed: true,
    },
    File {
        name: "app.6ced3f4d19dc.css",
        bytes: include_bytes!("../dist/app.6ced3f4d19dc.css"),
        gzip: include_bytes!("../dist/app.6ced3f4d19dc.css.gz"),
        content_type: "text/css; charset=utf-8",
        etag: "\"6ced3f4d19dc610a9c92685ea1043ab1\"",
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
        etag: "\"ecdd1ad837b5c4a4bcb17786173c6865\"",
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
