import type { EngineConnection } from '../connection.ts';
import { askVersion, engineOf } from '../describe.ts';
import { call } from '../engine-api.ts';

/** Properties of the engine and of its host that a builder needs. */
export interface BuildTraits {
  readonly engine: 'docker' | 'podman';
  /** Such as `4.3.1`. */
  readonly version: string;
  readonly canLimitMemory: boolean;
  readonly canLimitCpu: boolean;
  readonly isRootless: boolean;
  /** Folder of the engine's data; null if the engine does not report one. */
  readonly dataFolder: string | null;
}

interface Info {
  readonly MemoryLimit?: boolean;
  readonly CpuCfsQuota?: boolean;
  readonly SecurityOptions?: readonly string[] | null;
  readonly Rootless?: boolean;
  readonly DockerRootDir?: string;
}

export async function askBuildTraits(docker: EngineConnection, signal: AbortSignal): Promise<BuildTraits> {
  const [version, info] = await Promise.all([
    askVersion(docker, signal),
    call<Info>(docker, { method: 'GET', path: '/info', signal, timeoutMilliseconds: 30_000 }),
  ]);
  const { MemoryLimit, CpuCfsQuota, SecurityOptions, Rootless, DockerRootDir } = info.body;
  return {
    engine: engineOf(version),
    version: version.Version,
    canLimitMemory: MemoryLimit !== false,
    canLimitCpu: CpuCfsQuota !== false,
    isRootless: Rootless === true || SecurityOptions?.some((option) => option.includes('rootless')) === true,
    dataFolder: DockerRootDir || null,
  };
}
