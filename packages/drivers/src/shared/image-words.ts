/**
 * What is said of images, without their references as far as they are said: names of images and registries may be any words, `denied-list` and
 * `geofence` too. Pure.
 */
export function withoutReferences(words: string, images: readonly string[]): string {
  return images.filter((image) => image !== '').reduce((rest, image) => patternsOf(image).reduce(without, rest), words);
}

function without(words: string, pattern: RegExp): string {
  return words.replace(pattern, ' ');
}

/** How registries, nodes and their errors write a reference: whole, with a host that it leaves out, in a URL, and its host alone. */
function patternsOf(image: string): RegExp[] {
  const { host, name } = partsOf(image);
  const own = escaped(name);
  const end = String.raw`(?:/(?:manifests|blobs)/[\w.:@-]+|[:@]\w[\w.:@-]*)?(?![\w-])`;
  const sources = [
    // A single word may be one of what is said: then it is a name only where a quote, a tag or a place is beside it.
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

/** The first part is a host where it looks like one. */
function partsOf(image: string): { readonly host: string; readonly name: string } {
  const name = image.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
  const [first = '', ...others] = name.split('/');
  const hasHost = others.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  return hasHost ? { host: first, name: others.join('/') } : { host: '', name };
}

function escaped(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}
