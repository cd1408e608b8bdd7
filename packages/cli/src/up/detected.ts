/** The files of a folder, as far as the detection reads them. */
export interface Folder {
  /** Returns the text of a file; null if there is none. */
  read(name: string): Promise<string | null>;
  /** Returns the names of files, with those in folders, in the order of their depth. At most about a thousand. */
  list(): Promise<readonly string[]>;
}

export type Language = 'Node' | 'Python' | 'Go' | 'Rust' | 'Java' | 'PHP' | 'Ruby' | 'static files';

/** The program that was found in a folder: everything that its Dockerfile needs. */
export interface Detected {
  readonly language: Language;
  /** The file that shows it, such as package.json. */
  readonly because: string;
  /** The version of the language; null: the Dockerfile names a default. */
  readonly version: string | null;
  readonly port: number;
  /** Where the program says its port, such as "server.js:12"; null: the usual port of the language. */
  readonly portFrom: string | null;
  /** Facts that only one language has. */
  readonly facts: Readonly<Record<string, string>>;
}

/** Returns the program of a folder, if it is of one kind; otherwise null. */
export type Finder = (folder: Folder, names: readonly string[]) => Promise<Omit<Detected, 'port' | 'portFrom'> | null>;
