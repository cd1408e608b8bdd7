import { parseDockerfile, type DockerfileFault } from './dockerfile.ts';

/** Facts about a Dockerfile that a reader wants to know before a build. */
export interface DockerfileFacts {
  /** Names of the arguments that it declares, each once. */
  readonly argumentNames: readonly string[];
  /** Images of its FROM lines as written, each once, without its own stages and `scratch`. */
  readonly images: readonly string[];
  /** TCP ports of its EXPOSE lines that are numbers, each once. */
  readonly ports: readonly number[];
  /** The first fault that is detectable without building; null if there is none. */
  readonly fault: DockerfileFault | null;
}

export function dockerfileFacts(content: string): DockerfileFacts {
  const { argumentNames, instructions, stages, fault } = parseDockerfile(content);
  const exposed = instructions.filter(({ keyword }) => keyword === 'EXPOSE').flatMap(({ rest }) => portsOf(rest));
  const images = stages.filter(({ base, index }) => base !== 'scratch' && !isStageBefore(base, index)).map(({ base }) => base);
  function isStageBefore(base: string, index: number): boolean {
    return stages.some((stage) => stage.index < index && stage.name?.toLowerCase() === base.toLowerCase());
  }
  return { argumentNames: [...argumentNames], images: [...new Set(images)], ports: [...new Set(exposed)], fault };
}

/** Returns the numbers in the text after EXPOSE: `80`, `443/tcp`. Ranges, variables and UDP are left out. */
function portsOf(rest: string): number[] {
  return rest.split(/\s+/).flatMap((word) => {
    const port = /^(\d{1,5})(?:\/tcp)?$/i.exec(word)?.[1];
    return port === undefined || Number(port) > 65_535 ? [] : [Number(port)];
  });
}
