import { isIP, isIPv6 } from 'node:net';
import { BLOCK_RULE_KINDS, type BlockRule } from '#schemas/setting.ts';
import { type Problem, problem } from './problem.ts';
import { isEventName, isPlainText } from './text_rules.ts';

const VALUE_CHARACTERS_MAX = 500;
const PROPERTY_CHARACTERS_MAX = 200;
/** Two capital letters, or T1: the code that country headers give to Tor. */
const COUNTRY_PATTERN = /^(?:[A-Z]{2}|T1)$/;

const VALUE_RULES: Record<BlockRule['kind'], { test: (value: string) => boolean; says: string }> = {
  ip: { test: isAddressOrRange, says: 'an address or a CIDR range' },
  user_agent: { test: isValue, says: `1 to ${VALUE_CHARACTERS_MAX} characters` },
  country: { test: (value) => COUNTRY_PATTERN.test(value), says: 'an ISO 3166-1 alpha-2 code in capitals' },
  event: { test: isEventName, says: 'an event name of 1 to 200 characters' },
  property: { test: (value) => value === '' || isValue(value), says: `at most ${VALUE_CHARACTERS_MAX} characters` },
  distinct_id: { test: isValue, says: `1 to ${VALUE_CHARACTERS_MAX} characters` },
};

/** Checks one block rule; `field` names it in the problems. */
export function blockRuleProblems(rule: BlockRule, field: string): Problem[] {
  if (!BLOCK_RULE_KINDS.includes(rule.kind)) {
    return [problem('block_rule_malformed', field, `the kind is one of ${BLOCK_RULE_KINDS.join(', ')}`)];
  }
  const { test, says } = VALUE_RULES[rule.kind];
  if (!test(rule.value)) return [problem('block_rule_malformed', field, `the value of ${rule.kind} is ${says}`)];
  if ((rule.kind === 'property') !== (rule.property !== null)) {
    return [problem('block_rule_malformed', field, 'a property is named by rules of kind property, and only by them')];
  }
  if (rule.property !== null && !isPlainText(rule.property, 1, PROPERTY_CHARACTERS_MAX)) {
    return [problem('block_rule_malformed', field, `a property has 1 to ${PROPERTY_CHARACTERS_MAX} characters`)];
  }
  return [];
}

/** Two rules are the same when this text is. */
export function blockRuleText(rule: BlockRule): string {
  return rule.kind === 'property' ? `property:${rule.property}=${rule.value}` : `${rule.kind}=${rule.value}`;
}

function isValue(value: string): boolean {
  return isPlainText(value, 1, VALUE_CHARACTERS_MAX);
}

function isAddressOrRange(value: string): boolean {
  const [address = '', bits, ...rest] = value.split('/');
  if (rest.length > 0 || isIP(address) === 0) return false;
  if (bits === undefined) return true;
  return /^(?:0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (isIPv6(address) ? 128 : 32);
}
