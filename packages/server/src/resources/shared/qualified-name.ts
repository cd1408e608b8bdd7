import type { Problems } from './problems.ts';

// Kubernetes' rules for keys of annotations and labels, and for values of labels ("Labels and Selectors",
// "Annotations").
const part = '[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?';
const domainLabel = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const key = new RegExp(`^(?:${domainLabel}(?:\\.${domainLabel})*/)?${part}$`);
const value = new RegExp(`^(?:${part})?$`);
const longestDomain = 253;
// Davit finds its own objects on a cluster by labels and annotations with this prefix. Equal to `reservedPrefix` of the
// Kubernetes driver.
const reservedPrefix = 'davit.';

/**
 * Adds to `problems` each key that clusters would refuse, that is reserved, or that an earlier entry has. `path`: path
 * of the list.
 */
export function checkKeys(path: string, entries: readonly { readonly key: string }[], problems: Problems): void {
  const seen = new Map<string, number>();
  entries.forEach((entry, index) => {
    const location = `${path}.${index}.key`;
    const earlier = seen.get(entry.key);
    if (!key.test(entry.key) || entry.key.lastIndexOf('/') > longestDomain) {
      problems.add(
        location,
        'must be a name such as team or example.org/team: at most 63 letters, digits, - _ . that begin and end with a letter or digit, after a domain of small letters',
      );
    } else if (entry.key.startsWith(reservedPrefix)) {
      problems.add(location, `begins with ${reservedPrefix}, which is reserved for the keys of Davit: choose another one`);
    } else if (earlier !== undefined) {
      problems.add(location, `is the key of entry ${earlier} already`);
    }
    seen.set(entry.key, earlier ?? index);
  });
}

/** Adds to `problems` each label value that clusters would refuse. `path`: path of the list. */
export function checkLabelValues(path: string, entries: readonly { readonly value: string }[], problems: Problems): void {
  entries.forEach((entry, index) => {
    if (value.test(entry.value)) return;
    problems.add(
      `${path}.${index}.value`,
      'must be empty or have at most 63 letters, digits, - _ . that begin and end with a letter or digit',
    );
  });
}
