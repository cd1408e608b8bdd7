/**
 * Removes the references of these images from a message, so that patterns match only the message itself: names of
 * images and registries may be any words, such as `denied-list` and `geofence`. Pure.
 */
export function withoutReferences(words: string, images: readonly string[]): string {
  return images.filter((image) => image !== '').reduce((rest, image) => patternsOf(image).reduce(without, rest), words);
}

function without(words: string, pattern: RegExp): string {
  return words.replace(pattern, ' ');
}

/**
 * Returns the notations of a reference in messages of registries and nodes: the whole reference, the reference with its
 * implied host, a URL, and the host alone.
 */
function patternsOf(image: string): RegExp[] {
  const { host, name } = partsOf(image);
  const own = escaped(name);
  const end = String.raw`(?:/(?:manifests|blobs)/[\w.:@-]+|[:@]\w[\w.:@-]*)?(?![\w-])`;
  const sources = [
    // A single word may belong to the message itself. It counts as a name only next to a quote, a tag or a path
    // separator.
    ...(/[/:@]/.test(image) ? [String.raw`(?<![\w./-])${escaped(image)}(?![\w-])`] : []),
    String.raw`(?<![\w.-])(?:[\w.-]+(?::\d+)?/)+${own}(?![\w-])${end}`,
    String.raw`(?<![\w./-])${own}[:@]\w[\w.:@-]*`,
    `"${own}"`,
    ...(name.includes('/') ? [String.raw`(?<![\w./-])${own}(?![\w-])${end}`] : []),
    ...(host === ''
      ? []
      : [
          String.raw`(?<![\w.-])${escaped(host)}(?![\w-])`,
          String.raw`(?<![\w.-])${escaped(host.replace(/:\d+$/, ''))}(?![\w-])`,
        ]),
  ];
  return sources.map((source) => new RegExp(source, 'gi'));
}

/** Splits off the first part of the name if it looks like a host. */
function partsOf(image: string): { readonly host: string; readonly name: string } {
  const name = image.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
  const [first = '', ...others] = name.split('/');
  const hasHost = others.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  return hasHost ? { host: first, name: others.join('/') } : { host: '', name };
}

function escaped(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}
