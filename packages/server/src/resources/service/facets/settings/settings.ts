import { advancedSettings } from '@davit/contract';
import type { Caller } from '../../../../auth/caller.ts';
import type { Needs } from '../../../../deps.ts';
import { Problems } from '../../../shared/problems.ts';
import { lockService, type ServiceReference } from '../../lock.ts';
import {
  mergedSettings,
  settingDefault,
  type AdvancedSettingsSpec,
  type CompleteSettings,
  type SettingsType,
} from '../../shapes/advanced-settings.ts';
import { updateService } from '../../store.ts';
import { readVisibleFacts } from '../../visible.ts';

/** Settings of the operator that are defaults of services. */
export type DefaultedSetting = 'buildCpuMillicores' | 'buildMemoryMiB' | 'terminationGraceSeconds';

/** Returns the default settings of services of one type. */
export function defaultSettings({ config }: Needs<never, DefaultedSetting>, type: SettingsType): CompleteSettings {
  const ofInstallation: CompleteSettings = {
    'hpa.memory.average_utilization_percent': null,
    'deployment.termination_grace_period_seconds': config.terminationGraceSeconds,
    ...buildLimits({ config }),
  };
  return Object.fromEntries(
    Object.keys(advancedSettings[type]).map((name) => {
      const value = settingDefault(type, name) ?? ofInstallation[name];
      if (value === undefined) throw new Error(`the setting ${name} has no default`);
      return [name, value];
    }),
  );
}

// The setting gives a build at least one GiB and at most the installation's limit: the engine takes the smaller value.
function buildLimits({ config }: Needs<never, 'buildCpuMillicores' | 'buildMemoryMiB'>): Readonly<Record<string, number>> {
  return {
    'build.cpu_max_in_milli': config.buildCpuMillicores,
    'build.ram_max_in_gib': Math.max(1, Math.round(config.buildMemoryMiB / 1024)),
  };
}

/** Returns all settings of a service, with defaults. */
export async function readSettings(
  deps: Needs<'database', DefaultedSetting>,
  caller: Caller,
  reference: ServiceReference,
): Promise<CompleteSettings> {
  const facts = await readVisibleFacts(deps.database, caller, reference);
  return complete(deps, reference.type, facts.spec.advanced_settings);
}

/**
 * Sets the given settings; the next deployment applies them. Fails with VALIDATION_FAILED for a setting that the type
 * does not have. The message lists the settings that it has.
 */
export async function editSettings(
  deps: Needs<'database' | 'engine', DefaultedSetting>,
  caller: Caller,
  reference: ServiceReference,
  request: Readonly<Record<string, unknown>>,
): Promise<CompleteSettings> {
  return deps.database.transaction(async (tx) => {
    const facts = await lockService(deps, tx, caller, { ...reference, purpose: 'change' });
    const problems = new Problems();
    const defaults = defaultSettings(deps, settingsType(reference.type));
    const merged = mergedSettings(request, facts.spec.advanced_settings ?? {}, { defaults, most: buildLimits(deps), problems });
    problems.throwIfAny();
    const { advanced_settings: _former, ...spec } = facts.spec;
    const next = Object.keys(merged).length === 0 ? spec : { ...spec, advanced_settings: merged };
    await tx.run(updateService, [facts.id, facts.name, JSON.stringify(next)]);
    return complete(deps, reference.type, merged);
  });
}

const stickySetting = 'network.ingress.enable_sticky_session';

/** Returns one of the settings under its name in `network`. */
export async function readNetwork(
  deps: Needs<'database', DefaultedSetting>,
  caller: Caller,
  reference: ServiceReference,
): Promise<{ sticky_session: boolean }> {
  return toNetwork(await readSettings(deps, caller, reference));
}

/** Sets the given network settings. Omitted ones stay; null restores the default. */
export async function editNetwork(
  deps: Needs<'database' | 'engine', DefaultedSetting>,
  caller: Caller,
  reference: ServiceReference,
  { sticky_session }: Readonly<Record<string, unknown>>,
): Promise<{ sticky_session: boolean }> {
  const change = sticky_session === undefined ? {} : { [stickySetting]: sticky_session };
  return toNetwork(await editSettings(deps, caller, reference, change));
}

function toNetwork(all: CompleteSettings): { sticky_session: boolean } {
  return { sticky_session: all[stickySetting] === true };
}

function complete(deps: Needs<never, DefaultedSetting>, type: string, set: AdvancedSettingsSpec = {}): CompleteSettings {
  return { ...defaultSettings(deps, settingsType(type)), ...set };
}

function settingsType(type: string): SettingsType {
  const found = Object.keys(advancedSettings).find((one): one is SettingsType => one === type);
  if (found === undefined) throw new Error(`there is no service type ${type}`);
  return found;
}
