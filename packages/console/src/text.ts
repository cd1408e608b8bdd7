// Embeddings, overrides and isolates. Texts in Hebrew or Arabic have no need of them: their letters have a direction.
const directions = /[\u202a-\u202e\u2066-\u2069]/g;

/**
 * Shows the characters in a text of others that would turn the text around them: with these, a name could be read as
 * another one.
 */
export function withoutTurns(text: string): string {
  return text.replace(directions, (character) => `‹${character.codePointAt(0)?.toString(16)}›`);
}
