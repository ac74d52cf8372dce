/** Long enough that no number of tries that are allowed finds one that is not among the commonest. */
export const PASSWORD_CHARACTERS_MIN = 12;

/** What whoever chooses a password is told. */
export const PASSWORD_RULE = `At least ${PASSWORD_CHARACTERS_MIN} characters, not all of them blank or the same`;

/** Blanks of every script, and characters that are not drawn at all: nobody knows how many of them they typed. */
const UNSEEN = /[\s\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Whether a password says more than one character over and over. Blanks may stand in it, but are not what it is made of. */
export function isVaried(password: string): boolean {
  return new Set(password.normalize('NFC').replaceAll(UNSEEN, '')).size > 1;
}
