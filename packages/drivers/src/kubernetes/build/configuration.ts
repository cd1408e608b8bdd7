import type { BuildRegistry, ClusterBuildRequest } from '../../image-builder.ts';
import type { OfferedArguments } from '../../shared/build/arguments.ts';
import type { BuildSettings } from '../manifests/settings.ts';
import { buildLabels, ownFile, place } from './place.ts';

/** `buildkitd.toml`. Pure. */
export function daemonConfiguration(request: ClusterBuildRequest, { isolation, plainRegistries }: BuildSettings): string {
  const own = request.registry.isPlain ? [hostOf(request.reference)] : [];
  const plain = [...new Set([...plainRegistries, ...own])];
  return [
    '[worker.oci]',
    // All of it goes with the pod.
    'gc = false',
    // In a pod no user namespace of its own may mount a new /proc.
    ...(isolation === 'rootless' ? ['noProcessSandbox = true'] : []),
    ...plain.flatMap((host) => [`[registry.${JSON.stringify(host)}]`, 'http = true']),
    '',
  ].join('\n');
}

/**
 * What a Dockerfile may begin with. The credentials of the registry may read what was built for all services of the cluster, whosesoever they
 * are: without this a `FROM` line, or a frontend of its own, could have any of them. Pure.
 */
export function sourcePolicy({ folder }: Pick<BuildRegistry, 'folder'>): object {
  const identifier = `docker-image://${folder}/*`;
  return { rules: [{ action: 'DENY', selector: { identifier, match_type: 'WILDCARD' } }] };
}

/** `config.json` of Docker with the credentials of the one registry. Pure. */
export function dockerConfiguration({ host, credentials }: Pick<BuildRegistry, 'host' | 'credentials'>): object {
  if (credentials === null) return { auths: {} };
  const { username, password } = credentials;
  const auth = Buffer.from(`${username}:${password.reveal()}`).toString('base64');
  return { auths: { [host]: { auth } } };
}

/** Arguments of `buildctl`. Pure. */
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
    `--local=context=${place.context}`,
    `--local=dockerfile=${place.context}`,
    ...options.map((option) => `--opt=${option}`),
    `--output=type=image,name=${request.reference},push=true`,
    `--metadata-file=${place.own}/${ownFile.metadata}`,
    `--source-policy-file=${place.own}/${ownFile.policy}`,
    ...(request.withoutCache === true ? ['--no-cache'] : [`--import-cache=${cache}`]),
    // Also of the stages that the image does not have. A registry that takes no such thing costs time, and no build.
    `--export-cache=${cache},mode=max,image-manifest=true,oci-mediatypes=true,ignore-error=true`,
  ];
}

function hostOf(reference: string): string {
  return reference.split('/', 1)[0] ?? '';
}
