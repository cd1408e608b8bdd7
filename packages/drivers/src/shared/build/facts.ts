import { argumentNames as namesOf, parseDockerfile, type Dockerfile, type DockerfileFault, type Stage } from './dockerfile.ts';

/** Facts about a Dockerfile that a reader wants to know before a build. */
export interface DockerfileFacts {
  /** Names of the arguments that it declares, each once. */
  readonly argumentNames: readonly string[];
  /** Images of its FROM lines as written, each once, without its own stages and `scratch`. */
  readonly images: readonly string[];
  /** Names of its stages, as written; stages without a name are left out. */
  readonly stageNames: readonly string[];
  /** Ports that the last stage exposes, with those of the stages that it is based on. Each once, in order. */
  readonly ports: readonly ExposedPort[];
  /** The first fault that is detectable without building; null if there is none. */
  readonly fault: DockerfileFault | null;
}

export interface ExposedPort {
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP';
}

const mostPorts = 50;

export function dockerfileFacts(content: string): DockerfileFacts {
  const dockerfile = parseDockerfile(content);
  const { argumentNames, stages, fault } = dockerfile;
  const images = stages.filter(({ base, index }) => base !== 'scratch' && !isStageBefore(base, index)).map(({ base }) => base);
  function isStageBefore(base: string, index: number): boolean {
    return stages.some((stage) => stage.index < index && stage.name?.toLowerCase() === base.toLowerCase());
  }
  return {
    argumentNames: [...argumentNames],
    images: [...new Set(images)],
    stageNames: stages.flatMap(({ name }) => name ?? []),
    ports: exposedPorts(dockerfile),
    fault,
  };
}

/** Values of ARG and ENV lines are put in where a port refers to them. A port without a known number is left out. */
function exposedPorts(dockerfile: Dockerfile): ExposedPort[] {
  const values = new Map<string, string>();
  const found = new Map<string, ExposedPort>();
  for (const { keyword, rest } of linesOfLastImage(dockerfile)) {
    if (keyword === 'ARG' || keyword === 'ENV') for (const [name, value] of assignments(rest)) values.set(name, value);
    if (keyword !== 'EXPOSE') continue;
    for (const word of rest.split(/\s+/)) {
      const text = word.replaceAll(
        /\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))/g,
        (_all, braced?: string, other?: string, bare?: string) => {
          return values.get(braced ?? bare ?? '') ?? other ?? '';
        },
      );
      for (const one of portsIn(text)) if (found.size < mostPorts) found.set(`${one.port}/${one.protocol}`, one);
    }
  }
  return [...found.values()];
}

function portsIn(text: string): ExposedPort[] {
  const [, first, last = first, protocol = 'tcp'] = /^"?(\d{1,5})(?:-(\d{1,5}))?(?:\/(tcp|udp))?"?$/i.exec(text) ?? [];
  if (first === undefined) return [];
  const count = Math.min(Number(last) - Number(first) + 1, mostPorts);
  const word = protocol.toLowerCase() === 'udp' ? 'UDP' : 'TCP';
  return Array.from(
    { length: Math.max(0, count) },
    (_none, index) => ({ port: Number(first) + index, protocol: word }) as const,
  ).filter(({ port }) => port > 0 && port <= 65_535);
}

/** Returns the lines before the first stage, and those of the last stage and of the stages that it is based on. */
function linesOfLastImage({ instructions, stages }: Dockerfile): Dockerfile['instructions'] {
  const used = new Set<number>();
  let stage: Stage | undefined = stages.at(-1);
  while (stage !== undefined) {
    used.add(stage.index);
    const { base, index }: Stage = stage;
    stage = stages.findLast((one) => one.index < index && one.name?.toLowerCase() === base.toLowerCase());
  }
  let current = -1;
  return instructions.filter(({ keyword }) => {
    if (keyword === 'FROM') current += 1;
    return current === -1 || used.has(current);
  });
}

/** Returns the names of an ARG or ENV line with their values, without quotes. */
function assignments(rest: string): [string, string][] {
  const pairs = [...rest.matchAll(/(?:^|\s)([A-Za-z_]\w*)=("[^"]*"|'[^']*'|\S*)/g)];
  if (pairs.length > 0) return pairs.map(([, name = '', value = '']) => [name, value.replace(/^(["'])(.*)\1$/s, '$2')]);
  // The old form of ENV: a name, and the rest of the line.
  const [name = ''] = namesOf(rest.split(/\s/)[0] ?? '');
  const value = rest.slice(name.length).trim();
  return name === '' || value === '' ? [] : [[name, value]];
}
