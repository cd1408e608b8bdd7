import { isFields, isList, type Json } from './data/paths.ts';

/**
 * Returns the commands that install the command line of this server and deploy a folder, to an environment if it is
 * named.
 */
export function commandsOf(server: string, environment?: { readonly project: string; readonly name: string }): string[] {
  const flag = environment === undefined ? '' : ` --environment ${quoted(`${environment.project}/${environment.name}`)}`;
  return [
    `curl -fo davit ${server}/cli/davit.mjs && chmod +x davit && sudo mv davit /usr/local/bin/`,
    `davit login ${server}`,
    `davit up${flag}`,
  ];
}

/** Stands for a secret that somebody is entering. */
const hidden = '…';

/** Returns whether a command contains something in place of a secret. */
export function hidesSecret(command: string): boolean {
  return command.includes(JSON.stringify(hidden));
}

/** Returns a copy in which the value of each pair that is marked as secret is hidden. */
function withoutSecrets(value: Json): Json {
  if (isList(value)) return value.map(withoutSecrets);
  if (!isFields(value)) return value;
  const shown = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutSecrets(member)]));
  return value['secret'] === true && 'value' in value ? { ...shown, value: hidden } : shown;
}

/** Characters that a reader does not see, or that turn a line around: JSON has codes for them. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns the command that calls an operation of the API with a body. */
export function callOf(operation: string, params: Readonly<Record<string, string>>, body: Json): string {
  const ids = Object.entries(params).map(([name, id]) => ` ${name}=${quoted(id)}`);
  const codeOf = (character: string): string =>
    Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
      .map((code) => `\\u${code.toString(16).padStart(4, '0')}`)
      .join('');
  const json = JSON.stringify(withoutSecrets(body)).replaceAll(invisible, codeOf);
  return `davit api ${operation}${ids.join('')} --body ${quoted(json)}`;
}

/**
 * Returns the text as one word of a shell: names are chosen by other people, and the line is pasted into a terminal.
 */
function quoted(text: string): string {
  if (/^[\w./-]+$/.test(text)) return text;
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
  return `'${plain.replaceAll("'", String.raw`'\''`)}'`;
}
