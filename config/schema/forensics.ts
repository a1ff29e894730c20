import { setting } from '../setting.js'
import { Amount, Count, Flag, Path } from './shape.js'

const flag = (name: string, about: string) =>
  setting({ env: `SVC_FORENSICS_${name}`, type: Flag, default: false, about, reload: 'hot' })

/** What is recorded about runs beyond their events. */
export const FORENSICS_SETTINGS = {
  'forensics.trace_tool_decisions': flag('TRACE_TOOL_DECISIONS', 'Record why tools were offered and chosen.'),
  'forensics.detect_anti_patterns': flag('DETECT_ANTI_PATTERNS', 'Report repeated calls that lead nowhere.'),
  'forensics.trace_hook_mutations': flag('TRACE_HOOK_MUTATIONS', 'Record what hooks changed.'),
  'forensics.capture_request_envelope': flag('CAPTURE_REQUEST_ENVELOPE', 'Record what is sent to the model.'),
  'forensics.snapshot_memory_snippet': flag('SNAPSHOT_MEMORY_SNIPPET', 'Record the memory shown to the model.'),
  'forensics.error_chain_enabled': flag('ERROR_CHAIN_ENABLED', 'Record the chain of causes of an error.'),
  'forensics.capture_reasoning': flag('CAPTURE_REASONING', 'Record reasoning text.'),
  'forensics.cost_anomaly_detection_enabled': flag(
    'COST_ANOMALY_DETECTION_ENABLED',
    'Report steps that cost too much.',
  ),
  'forensics.audit_trail_enabled': flag('AUDIT_TRAIL_ENABLED', 'Keep an audit trail.'),
  'forensics.context_window_snapshot_enabled': flag(
    'CONTEXT_WINDOW_SNAPSHOT_ENABLED',
    'Record how full the context is.',
  ),
  'forensics.causal_graph_enabled': flag('CAUSAL_GRAPH_ENABLED', 'Record which call led to which.'),
  'forensics.error_context_depth': setting({
    env: 'SVC_FORENSICS_ERROR_CONTEXT_DEPTH',
    type: Count,
    default: 0,
    about: 'Events shown before an error; 0 = 10.',
    reload: 'hot',
  }),
  'forensics.cost_anomaly_step_multiplier': setting({
    env: 'SVC_FORENSICS_COST_ANOMALY_STEP_MULTIPLIER',
    type: Amount,
    default: 0,
    about: 'A step that costs this many times the average is reported; 0 = 2.',
    reload: 'hot',
  }),
  'forensics.context_window_warning_threshold': setting({
    env: 'SVC_FORENSICS_CONTEXT_WINDOW_WARNING_THRESHOLD',
    type: Amount,
    default: 0,
    about: 'Share of the context window that is warned about; 0 = off.',
    reload: 'hot',
  }),
  'forensics.rollout_dir': setting({
    env: 'SVC_ROLLOUT_DIR',
    type: Path,
    default: '',
    about: 'Directory of recorded runs; empty = no recording.',
    reload: 'hot',
    isPath: true,
  }),
} as const
