/** The facts about a Dockerfile that the API returns. The parser is passed in where the program is composed. */
export interface DockerfileFacts {
  readonly argumentNames: readonly string[];
  /** Base images, as written. */
  readonly images: readonly string[];
  readonly stageNames: readonly string[];
  /** Ports that the built image exposes. */
  readonly ports: readonly { readonly port: number; readonly protocol: 'TCP' | 'UDP' }[];
  readonly fault: { readonly line: number; readonly message: string } | null;
}
