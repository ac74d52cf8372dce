/** A text on one line. */
export const squeezed = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** A text without e-mail addresses and without numbers of nine or more digits, such as a phone's or a card's. */
export const masked = (text: string): string =>
  squeezed(text)
    .replace(/[^\s@/]+(@|%40)[^\s@/]+/gi, '***')
    .replace(/\+?\d([\s()./-]{0,2}\d){8,}/g, '***');
