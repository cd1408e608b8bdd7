import type { Problems } from './problems.ts';

// The grammars of the OCI Distribution Specification 1.1.
const nameForm = /^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$/;
const tagForm = /^(\w[\w.-]{0,127}|sha256:[0-9a-f]{64})$/;

/** Adds a problem if the name of an image, or its tag, cannot exist in any registry. */
export function checkImage(
  { image_name, tag }: { readonly image_name: string; readonly tag: string },
  problems: Pick<Problems, 'add'>,
): void {
  if (!nameForm.test(image_name)) {
    problems.add(
      'image_name',
      'must be the name of an image without registry and tag, as in team/web: small letters, digits, . _ - /',
    );
  }
  const fault = tagFault(tag);
  if (fault !== null) problems.add('tag', fault);
}

/** Returns what is wrong with a tag, as a text to follow the name of its member; null if the tag can exist. */
export function tagFault(tag: string): string | null {
  if (tagForm.test(tag)) return null;
  return 'must be a tag, as in 1.2 or latest (letters, digits, . _ -), or a digest: sha256: and 64 digits';
}
