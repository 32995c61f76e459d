// What the build makes of elements: calls of `h` are shorter than those of `jsx`.
export { Fragment, h } from 'preact';
