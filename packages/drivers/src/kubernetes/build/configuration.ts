import type { BuildRegistry, ClusterBuildRequest } from '../../image-builder.ts';
import type { OfferedArguments } from '../../shared/build/arguments.ts';
import type { BuildSettings } from '../manifests/settings.ts';
import { buildLabels, ownFile, ids } from './paths.ts';

/** Returns the content of `buildkitd.toml`. Pure. */
export function daemonConfiguration(request: ClusterBuildRequest, { isolation, plainRegistries }: BuildSettings): string {
  const own = request.registry.isPlain ? [hostOf(request.reference)] : [];
  const plain = [...new Set([...plainRegistries, ...own])];
  return [
    '[worker.oci]',
    // All data of the build disappears with the pod.
    'gc = false',
    // In a pod, no nested user namespace may mount a new /proc.
    ...(isolation === 'rootless' ? ['noProcessSandbox = true'] : []),
    ...plain.flatMap((host) => [`[registry.${JSON.stringify(host)}]`, 'http = true']),
    '',
  ].join('\n');
}

/**
 * Restricts the base images of a Dockerfile. The credentials of the registry can read the images of all services of the
 * cluster, whichever environment they belong to. Without this policy a `FROM` line, or a custom frontend, could read
 * any of them. Pure.
 */
export function sourcePolicy({ folder }: Pick<BuildRegistry, 'folder'>): object {
  const identifier = `docker-image://${folder}/*`;
  return { rules: [{ action: 'DENY', selector: { identifier, match_type: 'WILDCARD' } }] };
}

/** Returns a `config.json` of Docker with the credentials of the one registry. Pure. */
export function dockerConfiguration({ host, credentials }: Pick<BuildRegistry, 'host' | 'credentials'>): object {
  if (credentials === null) return { auths: {} };
  const { username, password } = credentials;
  const auth = Buffer.from(`${username}:${password.reveal()}`).toString('base64');
  return { auths: { [host]: { auth } } };
}

/** Returns the arguments of `buildctl`. Pure. */
export function buildArguments(request: ClusterBuildRequest, dockerfilePath: string, { offered }: OfferedArguments): string[] {
  const cache = `type=registry,ref=${request.reference.replace(/:[^:/]*$/, '')}:cache`;
  const options = [
    `filename=${dockerfilePath}`,
    ...(request.targetStage === null ? [] : [`target=${request.targetStage}`]),
    ...Object.entries(offered).map(([name, value]) => `build-arg:${name}=${value}`),
    ...Object.entries(buildLabels(request)).map(([name, value]) => `label:${name}=${value}`),
  ];
  return [
    'build',
    '--progress=rawjson',
    '--frontend=dockerfile.v0',
    `--local=context=${ids.context}`,
    `--local=dockerfile=${ids.context}`,
    ...options.map((option) => `--opt=${option}`),
    `--output=type=image,name=${request.reference},push=true`,
    `--metadata-file=${ids.own}/${ownFile.metadata}`,
    `--source-policy-file=${ids.own}/${ownFile.policy}`,
    ...(request.withoutCache === true ? ['--no-cache'] : [`--import-cache=${cache}`]),
    // The cache also holds the stages that are not in the image. A registry that rejects the cache costs time but does
    // not fail the build.
    `--export-cache=${cache},mode=max,image-manifest=true,oci-mediatypes=true,ignore-error=true`,
  ];
}

function hostOf(reference: string): string {
  return reference.split('/', 1)[0] ?? '';
}
