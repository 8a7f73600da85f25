import { declareErrors } from '@muster/base/errors';
import '@muster/jobs/errors';

/** The errors of rules. */
export const RULE_ERRORS = declareErrors({
  rule_exists: {
    status: 409,
    exit: 1,
    message: "there is a rule '{name}' already",
    fix: 'Choose another name, or change that one: `muster rule set {name}`.',
  },
});

type Rows = typeof RULE_ERRORS;

declare module '@muster/base/errors' {
  interface ErrorTable extends Rows {}
}

/** Taken from here, it knows the errors above. */
export { MusterError } from '@muster/base/errors';
