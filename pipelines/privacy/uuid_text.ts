const UUID_CHARACTERS = 36;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/**
 * Whether a text is a UUID with a version and a variant (RFC 9562, 4) and nothing else. Its digits stand for nothing, though one in
 * 1,400 random ones has a payment card's digits in it, and one in 14,000 those of a phone number.
 */
export const isUuidText = (text: string): boolean => text.length === UUID_CHARACTERS && UUID.test(text);
