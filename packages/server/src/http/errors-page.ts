const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function inline(text: string): string {
  return text
    .replaceAll(/[&<>"]/g, (character) => escapes[character] ?? character)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1');
}

/**
 * Renders docs/errors.md as the page that failed deployments link to. Supports only the elements that this file uses:
 * headings, tables and paragraphs. The heading of each cause gets its code as an anchor.
 */
export function errorsPage(document: string): string {
  const blocks = document.trim().split(/\n{2,}/);
  const body = blocks.map(toHtml).join('\n');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Errors of Davit</title>
<style>body{font-family:sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;line-height:1.5}td,th{text-align:left;padding:.3rem;vertical-align:top}:target{background:#fe9}</style>
</head>
<body>
${body}
</body>
</html>
`;
}

function toHtml(block: string): string {
  const heading = /^(#{1,3}) (.+)$/.exec(block);
  if (heading !== null) {
    const level = heading[1]?.length ?? 1;
    const text = heading[2] ?? '';
    const anchor = level === 3 ? ` id="${text.toLowerCase()}"` : '';
    return `<h${level}${anchor}>${inline(text)}</h${level}>`;
  }
  if (!block.startsWith('|')) return `<p>${inline(block)}</p>`;
  const rows = block.split('\n').filter((line) => !/^\|[-|]+\|$/.test(line));
  const anchorOf = (line: string): string => {
    const code = /^\| `([A-Z_]+)` \|/.exec(line)?.[1];
    return code === undefined ? '' : ` id="${code.toLowerCase()}"`;
  };
  const cells = (line: string, cell: string): string =>
    `<tr${anchorOf(line)}>${line
      .slice(2, -2)
      .split(' | ')
      .map((text) => `<${cell}>${inline(text)}</${cell}>`)
      .join('')}</tr>`;
  return `<table>${rows.map((line, index) => cells(line, index === 0 ? 'th' : 'td')).join('')}</table>`;
}
