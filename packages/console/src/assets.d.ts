declare module '*.svg' {
  /** Where the file is served. */
  const url: string;
  export default url;
}
