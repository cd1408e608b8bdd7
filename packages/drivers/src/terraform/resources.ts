import type { TerraformResource } from '../terraform-driver.ts';

/** The parts of the output of `show -json` that are read here. */
interface Shown {
  readonly values?: { readonly root_module?: ShownModule };
}

interface ShownModule {
  readonly resources?: readonly ShownResource[];
  readonly child_modules?: readonly ShownModule[];
}

interface ShownResource {
  readonly address: string;
  readonly mode: 'managed' | 'data';
  readonly type: string;
  readonly name: string;
  readonly provider_name: string;
  readonly values?: Readonly<Record<string, unknown>>;
  /** Has the shape of the values, with `true` for each sensitive value, by its mark or by its provider's schema. */
  readonly sensitive_values?: unknown;
}

/** Returns the resources in the output of `show -json`, including those of modules, without sensitive values. */
export function resourcesOf(text: string): TerraformResource[] {
  const shown: Shown = JSON.parse(text === '' ? '{}' : text);
  return shown.values?.root_module === undefined ? [] : resourcesOfModule(shown.values.root_module);
}

function resourcesOfModule({ resources = [], child_modules = [] }: ShownModule): TerraformResource[] {
  const own = resources.map(({ address, mode, type, name, provider_name, values = {}, sensitive_values }) => {
    const attributes = openPart(values, sensitive_values);
    return { address, mode, type, name, provider: provider_name, attributes: isObject(attributes) ? attributes : {} };
  });
  return [...own, ...child_modules.flatMap(resourcesOfModule)];
}

/** Returns a value without its sensitive parts: members are omitted, list items are null. */
function openPart(value: unknown, sensitive: unknown): unknown {
  if (sensitive === true) return undefined;
  if (Array.isArray(value) && Array.isArray(sensitive)) {
    return value.map((one, index) => openPart(one, sensitive[index]) ?? null);
  }
  if (!isObject(value) || !isObject(sensitive)) return value;
  const members = Object.entries(value).map(([name, one]) => [name, openPart(one, sensitive[name])] as const);
  return Object.fromEntries(members.filter(([, one]) => one !== undefined));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
