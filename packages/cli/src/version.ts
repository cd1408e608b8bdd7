/** Set when the one file of the command line is built. */
declare const DAVIT_VERSION: string | undefined;

/** The version of the command line. It is the same as that of the server that serves it. */
export const version = typeof DAVIT_VERSION === 'undefined' ? '0.1.0' : DAVIT_VERSION;
