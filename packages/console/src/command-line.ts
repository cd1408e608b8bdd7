/** Returns the commands that install the command line of this server and deploy a folder, to an environment if it is named. */
export function commandsOf(server: string, environment?: { readonly project: string; readonly name: string }): string[] {
  const place = environment === undefined ? '' : ` --environment ${quoted(`${environment.project}/${environment.name}`)}`;
  return [
    `curl -fo davit ${server}/cli/davit.mjs && chmod +x davit && sudo mv davit /usr/local/bin/`,
    `davit login ${server}`,
    `davit up${place}`,
  ];
}

/** Returns the text as one word of a shell: names are chosen by other people, and the line is pasted into a terminal. */
function quoted(text: string): string {
  if (/^[\w./-]+$/.test(text)) return text;
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
  return `'${plain.replaceAll("'", String.raw`'\''`)}'`;
}
