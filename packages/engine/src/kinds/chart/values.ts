import type { HelmSetting, HelmValues } from '@davit/drivers';

/** Returns the values with `davit.env.KEY` where clients refer to variables in their own words. Pure. */
export function inOwnWords(reference: string | null, values: HelmValues): HelmValues {
  if (reference === null) return values;
  const pattern = new RegExp(`(?<![\\w.])${RegExp.escape(reference)}\\.(?=[A-Za-z_])`, 'g');
  const own = (text: string): string => text.replaceAll(pattern, 'davit.env.');
  const settings = (all: readonly HelmSetting[]): readonly HelmSetting[] => all.map(([name, value]) => [name, own(value)]);
  return {
    files: values.files.map(({ name, content }) => ({ name, content: own(content) })),
    set: settings(values.set),
    setString: settings(values.setString),
    setJson: settings(values.setJson),
  };
}
