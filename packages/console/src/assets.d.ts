declare module '*.svg' {
  /** Where the file is served. */
  const url: string;
  export default url;
}
declare module '*?worker&url' {
  /** Where the program of the worker is served. */
  const url: string;
  export default url;
}
