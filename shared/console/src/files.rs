//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 5] = [
    File {
        name: "app.d38de2d96d29.css",
        bytes: include_bytes!("../dist/app.d38de2d96d29.css"),
        gzip: include_bytes!("../dist/app.d38de2d96d29.css.gz"),
        content_type: "text/css; charset=utf-8",
        etag: "\"d38de2d96d298a3683eda9f2eba7a369\"",
        is_hashed: true,
    },
    File {
        name: "app.da3bdad562c1.js",
        bytes: include_bytes!("../dist/app.da3bdad562c1.js"),
        gzip: include_bytes!("../dist/app.da3bdad562c1.js.gz"),
        content_type: "text/javascript; charset=utf-8",
        etag: "\"da3bdad562c1115547c0981d816a5770\"",
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
        etag: "\"934a895da0a4ff9bca74f0aae41c648e\"",
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
