import type { ReleaseConfig, ReleasePort } from '@davit/engine/port';
import type { Settings } from '../../configuration.ts';
import {
  builtIns,
  databaseBuiltIns,
  effective,
  type BuiltIn,
  type BuiltInFacts,
  type DerivedSecret,
  type VariableRow,
} from '../variable/index.ts';
import { internalHosts, publicHost, shortId } from './address.ts';
import { customHosts } from './custom-domain.ts';
import { endpointOf, hostAt } from '../shared/public-endpoint.ts';
import { isLocalDriver } from '../../local-driver.ts';
import type { ServiceFacts } from './rows.ts';
import { noGroups, type Groups } from './groups.ts';
import { kindOf } from './kinds/index.ts';
import type { RecordSettings } from './kinds/kind.ts';
import { toObjectMetadata } from './object-metadata.ts';
import { toReleaseOptions } from './shapes/advanced-settings.ts';
import { parseCommand } from './shapes/command.ts';
import { isPublicRouted, type PortSpec } from './shapes/ports.ts';
import { toDriverProbe } from './shapes/probe.ts';
import { toScaling } from './shapes/scaling.ts';
import { mountPath } from './shapes/storage.ts';

/** The parts of this installation's configuration that a release depends on. */
export type ReleaseSettings = RecordSettings & Settings<'gatewayPort' | 'clusterSettings' | 'variablePrefix'>;

export interface ComposedRelease {
  readonly config: ReleaseConfig;
  /** Secrets whose resolved text must be stored before the release starts. */
  readonly derived: readonly DerivedSecret[];
  /** Cycles of variables whose values refer back to themselves. A configuration with cycles is not deployed. */
  readonly circles: readonly (readonly string[])[];
}

/**
 * Returns the release that the service would run if it were deployed now. Combines the service's row, its visible
 * variables and its surroundings into the engine's plain data. Equal input gives an equal configuration, so different
 * hashes mean that something changed.
 */
export function composeRelease(
  facts: ServiceFacts,
  variables: readonly VariableRow[],
  settings: ReleaseSettings,
  groups: Groups = noGroups,
): ComposedRelease {
  const kind = kindOf(facts.type);
  const spec = kind.workload(facts.spec);
  const own = kind.process?.(facts.spec);
  const { files, derived, circles, ...seen } = effective(...(own === undefined ? visible(facts, variables, settings) : nothing));
  const config: ReleaseConfig = {
    version: 1,
    name: facts.name,
    source: kind.source(facts),
    entrypoint: own?.entrypoint ?? commandWords(spec.entrypoint),
    arguments: own?.arguments ?? spec.arguments,
    environment: own?.environment ?? seen.environment,
    files,
    ports: portsOf(facts).map((port) => toReleasePort(port, facts, settings)),
    volumes: spec.storage.map(({ id, mount_point, size }) => ({ id, mountPath: mountPath(mount_point), sizeGiB: size })),
    hostnames: internalHosts(addressed(facts), stableHost(facts)),
    cpuMillicores: spec.cpu,
    memoryMiB: spec.memory,
    instances: spec.min_running_instances,
    readiness: toDriverProbe(spec.healthchecks.readiness_probe),
    liveness: toDriverProbe(spec.healthchecks.liveness_probe),
    ...toReleaseOptions(facts.spec.advanced_settings ?? {}),
    ...toScaling(spec, facts.spec.advanced_settings ?? {}),
    ...kind.release?.(facts),
    ...toObjectMetadata(facts, groups),
  };
  return { config, derived, circles };
}

/** Returns the built-in variables of a service. */
export function serviceBuiltIns(facts: ServiceFacts, settings: ReleaseSettings): readonly BuiltIn[] {
  const kind = kindOf(facts.type);
  const defaultPort = portsOf(facts).find((port) => isPublicRouted(port) && port.is_default);
  const endpoint = endpointOf(settings, facts.driver);
  const host =
    defaultPort === undefined || endpoint === null
      ? null
      : publicHost(addressed(facts), { name: defaultPort.name, isDefault: true }, endpoint.domain);
  const source = kind.source(facts);
  const known: BuiltInFacts = {
    organizationId: facts.organization_id,
    projectId: facts.project_id,
    projectCreatedAt: facts.project_created_at,
    environmentId: facts.environment_id,
    environmentName: facts.environment_name,
    environmentMode: facts.environment_mode,
    environmentCreatedAt: facts.environment_created_at,
    clusterId: facts.cluster_id,
    cloudProvider: facts.cloud_provider,
    region: facts.region,
    domain: endpoint?.domain ?? settings.gatewayDomain,
    serviceId: facts.id,
    serviceType: kind.type,
    serviceName: facts.name,
    serviceCreatedAt: facts.created_at,
    isBuilt: source.type === 'GIT',
    branch: source.type === 'GIT' ? source.branch : null,
    deployedCommitId: facts.deployed_commit?.id ?? null,
    internalHost: stableHost(facts),
    externalHost: host === null || endpoint === null ? null : hostAt(endpoint, host),
  };
  const ofDatabases = databaseBuiltIns(facts.databases, settings.variablePrefix);
  return [...builtIns(known, settings.variablePrefix), ...ofDatabases];
}

/** Returns the ports of a service. A service that cannot be deployed on its cluster has none. */
function portsOf({ type, spec, driver }: ServiceFacts): readonly PortSpec[] {
  const kind = kindOf(type);
  return (kind.obstacle?.(spec, driver) ?? null) === null ? kind.workload(spec).ports : [];
}

type EffectiveInput = Parameters<typeof effective>;

function visible(facts: ServiceFacts, variables: readonly VariableRow[], settings: ReleaseSettings): EffectiveInput {
  // Outputs of a service are meant for other services. If the service saw its own outputs, each of its runs would make
  // it out of date.
  return [variables.filter((row) => row.output_of !== facts.id), serviceBuiltIns(facts, settings)];
}

const nothing: EffectiveInput = [[], []];

function stableHost({ id, type, spec }: ServiceFacts): string {
  const kind = kindOf(type);
  return kind.host?.(id, spec) ?? `${kind.hostPrefix}-z${shortId(id)}`;
}

function addressed(facts: ServiceFacts): { serviceId: string; serviceName: string; environmentName: string } {
  return { serviceId: facts.id, serviceName: facts.name, environmentName: facts.environment_name };
}

function toReleasePort(port: PortSpec, facts: ServiceFacts, settings: ReleaseSettings): ReleasePort {
  const isRouted = isPublicRouted(port);
  const label = { name: port.name, isDefault: port.is_default };
  const endpoint = endpointOf(settings, facts.driver);
  // Other clusters have no external ports of their own.
  const hasHostPort = port.publicly_accessible && !isRouted && isLocalDriver(facts.driver);
  const hasTls = hasHostPort && settings.gatewayHttpsPort !== null && acceptsTls(facts);
  const tlsHosts = hasTls && settings.addressCertificates === 'each' ? [`${stableHost(facts)}.${settings.gatewayDomain}`] : [];
  return {
    id: port.id,
    name: port.name,
    internalPort: port.internal_port,
    externalPort: hasHostPort ? port.external_port : null,
    public: port.publicly_accessible,
    isDefault: port.is_default,
    protocol: port.protocol,
    hosts: isRouted && endpoint !== null ? [publicHost(addressed(facts), label, endpoint.domain)] : tlsHosts,
    pathPrefix: port.public_path ?? '/',
    pathRewrite: port.public_path_rewrite,
    ...(hasTls && { acceptsTls: true as const }),
    ...(endpoint !== null && customHosts(port, facts)),
  };
}

function acceptsTls({ type, spec }: ServiceFacts): boolean {
  return kindOf(type).acceptsTls?.(spec) === true;
}

function commandWords(entrypoint: string | null): readonly string[] {
  const command = parseCommand(entrypoint ?? '');
  // The command was checked when it was stored.
  return 'words' in command ? command.words : [];
}
