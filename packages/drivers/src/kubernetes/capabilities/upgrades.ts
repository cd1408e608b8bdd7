import type { Node } from 'kubernetes-types/core/v1.js';
import type { ClusterUpgrades, UpgradeState } from '../../driver.ts';
import { call, find, type KubernetesObject } from '../client/api.ts';
import { list } from '../client/follow.ts';
import { apply, pathOf, type Scope } from '../client/objects.ts';
import { translated } from '../client/refusals.ts';
import { askVersion } from '../cluster/describe.ts';
import { compareVersions, parseVersion, stepFault, type DistributionVersion } from '../cluster/versions.ts';
import { label } from '../names/labels.ts';

/*
 * Upgrades of K3s and RKE2 with their system-upgrade-controller. The controller replaces the program on one node after
 * the other, as its Plans request: https://docs.k3s.io/upgrades/automated. Davit writes a Plan for the servers and one
 * for the agents. The agents wait for the servers.
 */

const namespace = 'system-upgrade';
const [serversPlan, agentsPlan] = ['davit-servers', 'davit-agents'];

/** The fields of a Plan that Davit reads. */
export interface Plan extends KubernetesObject {
  readonly spec?: { readonly version?: string };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
}

/** The optional capability "upgrades", to the version that an operator configured. */
export function clusterUpgrades(scope: Scope, wanted: string): ClusterUpgrades {
  return {
    state: async (signal) => {
      try {
        return await readState(scope, wanted, signal);
      } catch (error) {
        throw translated(error, 'The progress of an upgrade of the cluster could not be read');
      }
    },
    begin: async (version, signal) => {
      try {
        for (const plan of plansFor(version, scope.installation)) await apply(scope, plan, signal);
      } catch (error) {
        throw translated(error, 'The upgrade of the cluster could not be started');
      }
    },
  };
}

async function readState(scope: Scope, wanted: string, signal: AbortSignal): Promise<UpgradeState> {
  const none: UpgradeState = { next: null, hindrance: null, underWay: null, failure: null };
  const { api } = scope;
  const isInstalled =
    (await call(api, { method: 'GET', path: '/apis/upgrade.cattle.io/v1', signal, accept: [404] })).status === 200;
  if (!isInstalled)
    return {
      ...none,
      hindrance: 'it has no system-upgrade-controller. Install one, or upgrade the cluster where it was installed.',
    };
  const [plans, versions] = await Promise.all([readPlans(scope, signal), runningVersions(scope, signal)]);
  return judgeUpgrade(plans, versions, wanted);
}

/**
 * Derives the state of an upgrade from the Plans and the running versions. Plans that differ from the wanted ones, or
 * are incomplete (their writer ended in between), can be written again: a version that does not exist must not block
 * the right one. Pure.
 */
export function judgeUpgrade(plans: readonly Plan[], versions: readonly string[], wanted: string): UpgradeState {
  const targets = plans.map(({ spec }) => spec?.version ?? '');
  const target = targets[0];
  const isUnderWay = target !== undefined && versions.some((version) => isBehind(version, target));
  const isAsWanted = targets.length === 2 && targets.every((one) => one === planVersion(wanted));
  const failure = plans.map(failureOf).find((words) => words !== null) ?? null;
  const progress = isUnderWay ? { underWay: withoutLetter(target), failure } : { underWay: null, failure: null };
  if (isUnderWay && isAsWanted) return { ...progress, next: null, hindrance: null };
  // The oldest part of a cluster determines which version may come next.
  const fault = versions.map((version) => stepFault(version, wanted)).find((words) => words !== null) ?? null;
  if (fault !== null) return { ...progress, next: null, hindrance: isUnderWay ? null : fault };
  const isThere = versions.every((version) => version === planVersion(wanted));
  return { ...progress, next: isThere ? null : withoutLetter(wanted), hindrance: null };
}

// A node that is ahead of a Plan was upgraded by hand, and nothing downgrades it.
function isBehind(version: string, target: string): boolean {
  const [here, there] = [parseVersion(version), parseVersion(target)];
  return here === null || there === null ? version !== target : compareVersions(here, there) < 0;
}

async function readPlans({ api }: Scope, signal: AbortSignal): Promise<Plan[]> {
  const found = await Promise.all(
    [serversPlan, agentsPlan].map((name) => find<Plan>(api, pathOf('Plan', { namespace, name }), signal)),
  );
  return found.filter((plan) => plan !== null);
}

/** Returns the versions of the API server and of all nodes. */
async function runningVersions({ api }: Scope, signal: AbortSignal): Promise<string[]> {
  const [{ gitVersion }, nodes] = await Promise.all([
    askVersion(api, signal),
    list<Node>(api, { path: '/api/v1/nodes', query: {} }, signal),
  ]);
  return [gitVersion, ...nodes.items.flatMap(({ status }) => status?.nodeInfo?.kubeletVersion ?? [])];
}

/**
 * Returns what the controller reports against a Plan, or null. `Complete` is also false while the controller works, but
 * then without a message.
 */
function failureOf({ metadata, status }: Plan): string | null {
  const bad = (status?.conditions ?? []).find(
    ({ type, status: is, reason = '', message = '' }) =>
      is === 'False' && (type !== 'Complete' || /fail|error/i.test(reason)) && `${reason}${message}` !== '',
  );
  return bad === undefined ? null : `${metadata?.name}: ${[bad.reason, bad.message].filter(Boolean).join(': ')}`;
}

const withoutLetter = (version: string): string => version.replace(/^v/, '');
/** Returns a version in the form that nodes and Plans use. */
const planVersion = (version: string): string => `v${withoutLetter(version)}`;

/** Returns the Plans that start an upgrade. Pure. */
export function plansFor(version: string, installation: string): KubernetesObject[] {
  const target = planVersion(version);
  const parsed = parseVersion(target);
  if (parsed === null) throw new Error(`${version} is not a version that can be upgraded to`);
  const upgrade = { image: images[parsed.distribution] };
  const common = { concurrency: 1, cordon: true, serviceAccountName: 'system-upgrade', version: target, upgrade };
  const role = 'node-role.kubernetes.io/control-plane';
  return [
    toPlan(serversPlan, installation, {
      ...common,
      nodeSelector: { matchExpressions: [{ key: role, operator: 'In', values: ['true'] }] },
      tolerations: [
        { key: role, operator: 'Exists' },
        { key: 'CriticalAddonsOnly', operator: 'Exists' },
      ],
    }),
    toPlan(agentsPlan, installation, {
      ...common,
      nodeSelector: { matchExpressions: [{ key: role, operator: 'DoesNotExist' }] },
      prepare: { image: images[parsed.distribution], args: ['prepare', serversPlan] },
    }),
  ];
}

// The images have no tag: the controller adds the version as the tag.
const images: Readonly<Record<DistributionVersion['distribution'], string>> = {
  k3s: 'rancher/k3s-upgrade',
  rke2: 'rancher/rke2-upgrade',
};

function toPlan(name: string, installation: string, spec: object): KubernetesObject & { readonly spec: object } {
  return {
    apiVersion: 'upgrade.cattle.io/v1',
    kind: 'Plan',
    metadata: { name, namespace, labels: { 'app.kubernetes.io/managed-by': 'davit', [label.installation]: installation } },
    spec,
  };
}
