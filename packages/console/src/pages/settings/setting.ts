import type { ServiceType } from '../../words.ts';

/** A column of a setting that is a list of objects. */
export interface Column {
  /** Name of the member; for pairs, its place: `0`, `1`. */
  readonly name: string;
  readonly label: string;
  readonly kind: 'text' | 'number' | 'check' | readonly string[];
  readonly width?: string;
}

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

/** A setting of a service: one field of the form. */
export interface Setting {
  /** Path of the field in the request, and so in the API's errors. */
  readonly path: string;
  /** Path in the record, where it differs. */
  readonly from?: string;
  readonly label: string;
  readonly help: string;
  readonly control: Control;
  /** Takes effect when it is saved, without a deployment. */
  readonly isImmediate?: true;
}

export interface Section {
  readonly title: string;
  readonly kinds: readonly ServiceType[];
  /** Only for records that have this member. */
  readonly needs?: string;
  readonly settings: readonly Setting[];
}
