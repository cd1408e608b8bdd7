/** What the API tells of a Dockerfile. Whoever can read one is handed in where the program is composed. */
export interface DockerfileFacts {
  readonly argumentNames: readonly string[];
  /** Images that it starts from, as written. */
  readonly images: readonly string[];
  readonly fault: { readonly line: number; readonly message: string } | null;
}
