//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 5] = [
    File {
        name: "app.50556e1cfc6d.js",
        bytes: include_bytes!("../dist/app.50556e1cfc6d.js"),
        gzip: include_bytes!("../dist/app.50556e1cfc6d.js.gz"),
        content_type: "text/javascript; charset=utf-8",
        etag: "\"50556e1cfc6d7a7bd258c5e501fc1d47\"",
        is_hashed: true,
    },
    File {
        name: "app.fc4d3ae4c92d.css",
        bytes: include_bytes!("../dist/app.fc4d3ae4c92d.css"),
        gzip: include_bytes!("../dist/app.fc4d3ae4c92d.css.gz"),
        content_type: "text/css; charset=utf-8",
        etag: "\"fc4d3ae4c92d45448ec6c8053251c5f0\"",
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
        etag: "\"fd9c0769695475aa2a587ae2d71b5238\"",
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
