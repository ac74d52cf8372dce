const CURRENCIES = new Set(Intl.supportedValuesOf('currency'));

export const isCurrency = (value: unknown): boolean => typeof value === 'string' && CURRENCIES.has(value);
