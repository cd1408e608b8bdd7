import { memo, useMemo, useRef, useState, type KeyboardEvent, type MouseEvent, type ReactNode, type SyntheticEvent } from 'react';
import { withoutTurns } from '../text.ts';
import { sentence, shapeOf, shapeOfService, wordsOf, type States } from '../words.ts';
import { edgeOf, layoutOf, nodeAfter, type GraphLayout, type NodePosition } from './graph-layout.ts';
import { Icon, type IconName } from './icon.tsx';
import { hasModifier, isPlainClick } from './modifiers.ts';
import { Cut } from './page.tsx';
import { State } from './state.tsx';
import './graph.css';

export interface GraphNode {
  readonly id: string;
  readonly name: string;
  /** The kind in words, for screen readers; others see its drawing. */
  readonly kind: string;
  readonly icon: IconName;
  readonly status: States;
  readonly address: string;
}

export interface GraphStage {
  readonly id: string;
  readonly name: string;
  readonly nodes: readonly GraphNode[];
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
}

interface GraphProps {
  readonly label: string;
  readonly stages: readonly GraphStage[];
  readonly edges: readonly GraphEdge[];
  /** Opens the address of a node in this tab. */
  readonly onOpen: (address: string) => void;
}

/**
 * Stages as columns, their services as nodes, references as arrows. To a screen reader it is a list of stages with
 * their services, each of which says in words what its arrows show. Arrow keys move among the nodes, Enter opens one.
 */
export function Graph({ label, stages, edges, onOpen }: GraphProps): ReactNode {
  const order = stages.map(({ nodes }) => nodes.map(({ id }) => id).join(' ')).join('\n');
  // A state that changes moves nothing: the positions depend on the order of the services alone.
  const layout = useMemo(() => layoutOf(order.split('\n').map((ids) => (ids === '' ? [] : ids.split(' ')))), [order]);
  const names = useMemo(() => new Map(stages.flatMap(({ nodes }) => nodes.map(({ id, name }) => [id, name] as const))), [stages]);
  const words = useMemo(() => wordsOfEdges(edges, names), [edges, names]);
  const [active, activate] = useState<string | null>(null);
  const [entry, enter] = useState<string | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const first = entry !== null && layout.positions.has(entry) ? entry : layout.columns[0]?.[0];
  const ofActive = edges.filter(({ from, to }) => from === active || to === active);
  const related = new Set(ofActive.flatMap(({ from, to }) => [from, to]));
  const press = (event: KeyboardEvent): void => {
    const next = nodeAfter(layout, idAt(event) ?? '', event.key);
    // With a modifier the key is the browser's: Alt and an arrow lead to the page before.
    if (next === undefined || hasModifier(event)) return;
    event.preventDefault();
    const target = [...(box.current?.querySelectorAll('a') ?? [])].find(({ dataset }) => dataset['id'] === next);
    target?.focus();
    target?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  };
  const open = (event: MouseEvent): void => {
    const node = nodeAt(event);
    if (node === null || !isPlainClick(event)) return;
    event.preventDefault();
    onOpen(node.dataset['address'] ?? '');
  };
  const focus = (event: SyntheticEvent): void => {
    const id = idAt(event);
    activate(id);
    if (id !== null) enter(id);
  };
  return (
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions, jsx-a11y/click-events-have-key-events -- the events are those of the links in it
    <div
      ref={box}
      className="graph"
      onKeyDown={press}
      onClick={open}
      onFocus={focus}
      onBlur={() => activate(null)}
      onPointerOver={(event) => activate(idAt(event) ?? idOf(document.activeElement))}
      onPointerLeave={() => activate(idOf(document.activeElement))}
    >
      <div style={{ width: layout.width, height: layout.height }}>
        <Edges layout={layout} edges={edges} className="edges" />
        {ofActive.length > 0 && <Edges layout={layout} edges={ofActive} className="edges on" />}
        <ol aria-label={label}>
          {stages.map(({ id, name, nodes }, index) => (
            <li key={id}>
              <h3 style={{ left: layout.stages[index] ?? 0 }}>
                <span>{index + 1}</span>
                <Cut text={name} />
              </h3>
              <ul>
                {nodes.map((node) => (
                  <Node
                    key={node.id}
                    node={node}
                    position={layout.positions.get(node.id)}
                    words={words.get(node.id) ?? ''}
                    isEntry={node.id === first}
                    isRelated={related.has(node.id)}
                  />
                ))}
              </ul>
            </li>
          ))}
        </ol>
      </div>
    </div>
  );
}

function nodeAt({ target }: SyntheticEvent): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>('a[data-id]') : null;
}

function idAt(event: SyntheticEvent): string | null {
  return nodeAt(event)?.dataset['id'] ?? null;
}

function idOf(element: Element | null): string | null {
  return element instanceof HTMLElement ? (element.dataset['id'] ?? null) : null;
}

interface EdgesProps {
  readonly layout: GraphLayout;
  readonly edges: readonly GraphEdge[];
  readonly className: string;
}

/** All arrows as two paths, however many there are. */
const Edges = memo(function Edges({ layout, edges, className }: EdgesProps): ReactNode {
  const drawn = edges.flatMap(({ from, to }) => {
    const [start, end] = [layout.positions.get(from), layout.positions.get(to)];
    return start === undefined || end === undefined ? [] : [edgeOf(start, end)];
  });
  return (
    <svg className={className} width={layout.width} height={layout.height} aria-hidden="true">
      <path d={drawn.map(({ line }) => line).join('')} />
      <path className="head" d={drawn.map(({ head }) => head).join('')} />
    </svg>
  );
});

interface NodeProps {
  readonly node: GraphNode;
  readonly position: NodePosition | undefined;
  /** Describes its arrows. */
  readonly words: string;
  /** Whether the tab key enters the graph here. */
  readonly isEntry: boolean;
  readonly isRelated: boolean;
}

/** A node is a plain link, since two hundred links of the router would cost more than all else on the page. */
const Node = memo(
  function Node({ node, position, words, isEntry, isRelated }: NodeProps): ReactNode {
    const [word] = wordsOf(node.status);
    const isBad = shapeOfService(node.status) === 'bad';
    return (
      <li>
        <a
          href={`/console${node.address}`}
          data-id={node.id}
          data-address={node.address}
          tabIndex={isEntry ? 0 : -1}
          className={`node ${isBad ? 'bad' : ''} ${isRelated ? 'on' : ''}`}
          style={{ left: position?.x, top: position?.y }}
        >
          <span className="name" title={node.kind}>
            <Icon name={node.icon} />
            <Cut text={node.name} />
          </span>
          <span className="sr-only">, {node.kind}, </span>
          <State shape={shapeOf(word)}>{sentence(word)}</State>
          {words !== '' && <span className="sr-only">. {words}</span>}
        </a>
      </li>
    );
  },
  (before, now) =>
    before.position === now.position &&
    before.words === now.words &&
    before.isEntry === now.isEntry &&
    before.isRelated === now.isRelated &&
    before.node.name === now.node.name &&
    before.node.kind === now.node.kind &&
    before.node.address === now.node.address &&
    before.node.status === now.node.status,
);

/** Returns in words what the arrows of each node show. */
function wordsOfEdges(edges: readonly GraphEdge[], names: ReadonlyMap<string, string>): Map<string, string> {
  const found = new Map<string, { to: string[]; from: string[] }>();
  const at = (id: string) => {
    const known = found.get(id) ?? { to: [], from: [] };
    found.set(id, known);
    return known;
  };
  for (const { from, to } of edges) {
    at(from).to.push(withoutTurns(names.get(to) ?? ''));
    at(to).from.push(withoutTurns(names.get(from) ?? ''));
  }
  const listed = (what: string, all: readonly string[]): string => (all.length === 0 ? '' : `${what} ${all.join(', ')}.`);
  return new Map(
    [...found].map(([id, { to, from }]) => [id, `${listed('Refers to', to)} ${listed('Is referred to by', from)}`.trim()]),
  );
}
