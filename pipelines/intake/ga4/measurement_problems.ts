import { isParameterName, isReservedEventName, isUserPropertyName } from '#pipelines/delivery/ga4_names.ts';
import { isObject, objectOr } from '#pipelines/intake/compat/foreign.ts';
import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { clientIdOf, MEASUREMENTS_MAX } from './measurement_protocol.ts';

/** A problem in the form of Google's validation server. Nothing that was sent is in it: what is meant is said by its place. */
export interface MeasurementProblem {
  fieldPath: string;
  description: string;
  validationCode: 'VALUE_REQUIRED' | 'VALUE_INVALID' | 'NAME_INVALID' | 'NAME_RESERVED' | 'EXCEEDED_MAX_ENTITIES';
}

const EVENT_NAME = /^[A-Za-z][A-Za-z0-9_]{0,39}$/;
const PARAMETERS_MAX = 25;
const USER_PROPERTIES_MAX = 25;
/** No more are told of one body. */
const PROBLEMS_MAX = 100;

/** What Google would object to in a body of the Measurement Protocol (FACTS section 3). */
export function measurementProblems(body: unknown): MeasurementProblem[] {
  if (!isObject(body)) return [required('', 'The body must be a JSON object.')];
  const { events } = body;
  const problems = [
    ...(clientIdOf(body) === undefined ? [required('client_id', 'client_id is required.')] : []),
    ...userPropertyProblems(body['user_properties']),
  ];
  if (!Array.isArray(events) || events.length === 0) {
    return [...problems, required('events', 'events must be a list with at least one event.')];
  }
  if (events.length > MEASUREMENTS_MAX) {
    return [...problems, tooMany('events', `events must not hold more than ${MEASUREMENTS_MAX} events.`)];
  }
  return [...problems, ...events.flatMap(eventProblems)].slice(0, PROBLEMS_MAX);
}

function userPropertyProblems(sent: unknown): MeasurementProblem[] {
  const names = Object.keys(objectOr(sent));
  if (names.length > USER_PROPERTIES_MAX) {
    return [tooMany('user_properties', `user_properties must not hold more than ${USER_PROPERTIES_MAX}.`)];
  }
  const description = 'A user property has a name that Google reserves or does not take.';
  return names
    .filter((name) => !isUserPropertyName(name))
    .map(() => ({ fieldPath: 'user_properties', description, validationCode: 'NAME_INVALID' }));
}

function eventProblems(event: unknown, at: number): MeasurementProblem[] {
  const path = `events[${at}]`;
  if (!isObject(event)) {
    return [{ fieldPath: path, description: 'An event must be an object.', validationCode: 'VALUE_INVALID' }];
  }
  return [...nameProblems(event['name'], `${path}.name`), ...parameterProblems(event, `${path}.params`)];
}

function nameProblems(name: unknown, fieldPath: string): MeasurementProblem[] {
  if (name === undefined || name === '') return [required(fieldPath, 'name is required.')];
  if (typeof name !== 'string' || !EVENT_NAME.test(name)) {
    const description = 'A name must begin with a letter and have at most 40 letters, digits and underscores.';
    return [{ fieldPath, description, validationCode: 'NAME_INVALID' }];
  }
  if (!isReservedEventName(name)) return [];
  return [{ fieldPath, description: 'The name is one that Google reserves.', validationCode: 'NAME_RESERVED' }];
}

function parameterProblems({ params }: JsonObject, fieldPath: string): MeasurementProblem[] {
  if (params === undefined) return [];
  if (!isObject(params))
    return [{ fieldPath, description: 'params must be an object.', validationCode: 'VALUE_INVALID' }];
  const names = Object.keys(params);
  const description = 'A parameter has a name that Google reserves or does not take.';
  const invalid = names.filter((name) => !isParameterName(name));
  return [
    ...(names.length > PARAMETERS_MAX ? [tooMany(fieldPath, `params must not hold more than ${PARAMETERS_MAX}.`)] : []),
    ...invalid.map((): MeasurementProblem => ({ fieldPath, description, validationCode: 'NAME_INVALID' })),
  ];
}

function required(fieldPath: string, description: string): MeasurementProblem {
  return { fieldPath, description, validationCode: 'VALUE_REQUIRED' };
}

function tooMany(fieldPath: string, description: string): MeasurementProblem {
  return { fieldPath, description, validationCode: 'EXCEEDED_MAX_ENTITIES' };
}
