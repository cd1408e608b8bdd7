/** A column of a field that is a list of objects. */
export interface Column {
  /** Name of the member; for pairs, its place: `0`, `1`. */
  readonly name: string;
  readonly label: string;
  readonly kind: 'text' | 'number' | 'check' | readonly string[];
  readonly width?: string;
}

/** How a field is entered. */
export type Control =
  | { readonly kind: 'text' | 'switch' | 'lines' | 'code' | 'probe' }
  | { readonly kind: 'number'; readonly unit: string }
  | { readonly kind: 'choice'; readonly options: readonly string[] }
  | {
      readonly kind: 'rows';
      readonly columns: readonly Column[];
      readonly add: string;
      readonly blank: object;
      readonly isPairs?: true;
    };
