import { declareErrors } from '@muster/base/errors';

/** Inputs and parameters of a submission (sheet §1.3), and apps. */
export const APP_ERRORS = declareErrors({
  job_arg_missing: {
    status: 400,
    exit: 2,
    message: "JOBS_MISSING_ARG_VALUE job '{job}' gives no value for the required {kind} '{key}' ({field})",
    fix: 'Give one. `muster app show {app}` tells what it takes.',
  },
  job_arg_prohibited: {
    status: 400,
    exit: 2,
    message:
      "JOBS_PROHIBITED_ARG_VALUE job '{job}' gives a value for the {kind} '{key}' ({field}), which app {app} has fixed",
    fix: 'Leave it out.',
  },
  job_arg_undefined: {
    status: 400,
    exit: 2,
    message: "JOBS_UNDEFINED_ARG_VALUE job '{job}' gives a value for '{key}' ({field}): app {app} has no such {kind}",
    fix: '`muster app show {app}` tells what it takes.',
  },
  job_arg_bad_entry: {
    status: 400,
    exit: 2,
    message: "JOBS_BAD_ARG_VALUE_ENTRY job '{job}': the {kind} '{key}' ({field}) is neither text nor a list of texts",
    fix: 'Give a path or a URI, or a list of them.',
  },
  job_arg_too_few: {
    status: 400,
    exit: 2,
    message: "JOBS_ARG_VALUE_MIN_SIZE job '{job}': the {kind} '{key}' ({field}) has {count} values and needs {limit}",
    fix: 'Give more: `muster app show {app}` tells how many.',
  },
  job_arg_too_many: {
    status: 400,
    exit: 2,
    message:
      "JOBS_ARG_VALUE_MAX_SIZE job '{job}': the {kind} '{key}' ({field}) has {count} values and takes at most {limit}",
    fix: 'Give fewer: `muster app show {app}` tells how many.',
  },
  job_arg_nonconforming: {
    status: 400,
    exit: 2,
    message:
      "JOBS_ARG_VALUE_CONFORMANCE job '{job}': the {kind} '{key}' ({field}) has the value '{value}', which does not match {regex}",
    fix: 'Give a value that matches from its beginning to its end.',
  },
  job_input_uri: {
    status: 400,
    exit: 2,
    message: "JOBS_INPUT_URI_PARSE_ERROR job '{job}': the {kind} '{key}' ({field}): {error}",
    fix: 'Give a path on the storage system, or a URI such as agave://SYSTEM/path.',
  },
  job_input_unsupported_scheme: {
    status: 400,
    exit: 2,
    message: "JOBS_INPUT_UNSUPPORTED_SCHEME job '{job}': the {kind} '{key}' ({field}) has the scheme '{scheme}'",
    fix: 'Inputs come from agave://SYSTEM/path, http, https and sftp.',
  },
  job_parameter_type_unknown: {
    status: 400,
    exit: 2,
    message:
      "JOBS_INVALID_PARAMETER_TYPE job '{job}': the parameter '{key}' ({field}) is of the type '{type}': {error}",
    fix: 'Have the app {app} corrected: string, number, bool, flag and enumeration are known.',
  },
  job_parameter_type_mismatch: {
    status: 400,
    exit: 2,
    message:
      "JOBS_PARAMETER_TYPE_MISMATCH job '{job}': the parameter '{key}' ({field}) is of the type {expected}, not {actual}",
    fix: 'Write numbers and true or false without quotes, and text with them.',
  },
  job_parameter_invalid: {
    status: 400,
    exit: 2,
    message:
      "JOBS_INVALID_PARAMETER_VALUE job '{job}': the parameter '{key}' ({field}) of the type {type} cannot be '{value}': {error}",
    fix: 'Give another value.',
  },
  job_parameter_not_in_enum: {
    status: 400,
    exit: 2,
    message:
      "JOBS_PARAMETER_ENUM_NOT_FOUND job '{job}': the parameter '{key}' ({field}) of app {app} cannot be '{value}'",
    fix: 'Choose one of its values: `muster app show {app}`.',
  },
  job_app_not_found: {
    status: 404,
    exit: 4,
    message: 'No app found with id {app} that you may run.',
    fix: 'List what there is: `muster app list`.',
  },
});
