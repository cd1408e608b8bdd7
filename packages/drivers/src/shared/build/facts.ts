import { parseDockerfile, type DockerfileFault } from './dockerfile.ts';

/** What a reader wants to know of a Dockerfile before it is built. */
export interface DockerfileFacts {
  /** Names of the arguments that it declares, each once. */
  readonly argumentNames: readonly string[];
  /** Images of its FROM lines as written, each once; neither its own stages nor `scratch`. */
  readonly images: readonly string[];
  /** The first mistake that can be told without building; null: none. */
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
