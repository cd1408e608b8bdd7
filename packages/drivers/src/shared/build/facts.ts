import { parseDockerfile, type DockerfileFault } from './dockerfile.ts';

/** Facts about a Dockerfile that a reader wants to know before a build. */
export interface DockerfileFacts {
  /** Names of the arguments that it declares, each once. */
  readonly argumentNames: readonly string[];
  /** Images of its FROM lines as written, each once, without its own stages and `scratch`. */
  readonly images: readonly string[];
  /** The first fault that is detectable without building; null if there is none. */
  readonly fault: DockerfileFault | null;
}

export function dockerfileFacts(content: string): DockerfileFacts {
  const { argumentNames, stages, fault } = parseDockerfile(content);
  const images = stages.filter(({ base, index }) => base !== 'scratch' && !isStageBefore(base, index)).map(({ base }) => base);
  function isStageBefore(base: string, index: number): boolean {
    return stages.some((stage) => stage.index < index && stage.name?.toLowerCase() === base.toLowerCase());
  }
  return { argumentNames: [...argumentNames], images: [...new Set(images)], fault };
}
