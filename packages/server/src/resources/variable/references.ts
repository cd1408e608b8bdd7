/** Matches `{{KEY}}`, with or without blanks inside the braces. */
const reference = /\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*\}\}/g;

/** Returns the keys that a text references as `{{KEY}}`, each once, sorted. */
export function referenceKeys(text: string): readonly string[] {
  return [...new Set(Array.from(text.matchAll(reference), ([, key = '']) => key))].sort();
}

export type TextPiece = { readonly text: string } | { readonly key: string; readonly written: string };

/** Splits a text into plain pieces and references, in order. Their written forms, concatenated, are the text. */
export function pieces(text: string): readonly TextPiece[] {
  const found: TextPiece[] = [];
  let end = 0;
  for (const match of text.matchAll(reference)) {
    if (match.index > end) found.push({ text: text.slice(end, match.index) });
    found.push({ key: match[1] ?? '', written: match[0] });
    end = match.index + match[0].length;
  }
  if (end < text.length) found.push({ text: text.slice(end) });
  return found;
}

/**
 * Groups the keys of a graph: keys that lead to each other share a group, and each group follows all groups that it
 * refers to. Uses Tarjan's strongly connected components, without recursion, as a chain may be longer than the stack.
 */
export function groups(edges: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const open: string[] = [];
  const isOpen = new Set<string>();
  const result: string[][] = [];
  const enter = (key: string): { key: string; next: number } => {
    order.set(key, order.size);
    low.set(key, order.size - 1);
    open.push(key);
    isOpen.add(key);
    return { key, next: 0 };
  };
  const lower = (key: string, value: number): void => {
    low.set(key, Math.min(low.get(key) ?? value, value));
  };
  for (const start of edges.keys()) {
    if (order.has(start)) continue;
    const visits = [enter(start)];
    for (let visit = visits.at(-1); visit !== undefined; visit = visits.at(-1)) {
      const target = edges.get(visit.key)?.[visit.next];
      visit.next += 1;
      if (target !== undefined) {
        if (!edges.has(target)) continue;
        if (!order.has(target)) visits.push(enter(target));
        else if (isOpen.has(target)) lower(visit.key, order.get(target) ?? 0);
        continue;
      }
      visits.pop();
      const caller = visits.at(-1);
      if (caller !== undefined) lower(caller.key, low.get(visit.key) ?? 0);
      if (low.get(visit.key) !== order.get(visit.key)) continue;
      const group = open.splice(open.indexOf(visit.key));
      for (const key of group) isOpen.delete(key);
      result.push(group);
    }
  }
  return result;
}

/**
 * Returns the shortest path from a key back to itself, including both ends: A, B, A. Returns undefined if there is
 * none.
 */
export function circle(edges: ReadonlyMap<string, readonly string[]>, start: string): readonly string[] | undefined {
  const cameFrom = new Map<string, string>();
  const open = [start];
  // The loop appends to the list while iterating.
  for (const key of open) {
    for (const next of edges.get(key) ?? []) {
      if (next === start) return wayTo(key, start, cameFrom);
      if (cameFrom.has(next) || !edges.has(next)) continue;
      cameFrom.set(next, key);
      open.push(next);
    }
  }
  return undefined;
}

function wayTo(end: string, start: string, cameFrom: ReadonlyMap<string, string>): readonly string[] {
  const way = [start];
  for (let key: string | undefined = end; key !== undefined && key !== start; key = cameFrom.get(key)) way.push(key);
  return [...way, start].toReversed();
}
