/** The facts about a Dockerfile that the API returns. The parser is passed in where the program is composed. */
export interface DockerfileFacts {
  readonly argumentNames: readonly string[];
  /** Base images, as written. */
  readonly images: readonly string[];
  /** Numbers of its EXPOSE lines. */
  readonly ports: readonly number[];
  readonly fault: { readonly line: number; readonly message: string } | null;
}
