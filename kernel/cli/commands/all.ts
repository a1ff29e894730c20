import { addAnswerCommand } from './answer.js'
import { addApproveCommands } from './approve.js'
import { addAttachCommand } from './attach.js'
import { addConfigCommand } from './config.js'
import { addContinueCommand } from './continue.js'
import { addDoctorCommand } from './doctor.js'
import { addKeysCommand } from './keys.js'
import { addModelsCommand } from './models.js'
import { addPluginCommand } from './plugin.js'
import { addProvidersCommand } from './providers.js'
import { addRunCommand } from './run.js'
import { addRunsCommand } from './runs.js'
import { addServeCommand } from './serve.js'
import { addSteerCommand } from './steer.js'
import { addTodosCommand } from './todos.js'

/** Every command, in the order the help lists them. */
export const ALL_COMMANDS = [
  addServeCommand,
  addRunCommand,
  addAttachCommand,
  addApproveCommands,
  addAnswerCommand,
  addSteerCommand,
  addContinueCommand,
  addTodosCommand,
  addRunsCommand,
  addModelsCommand,
  addProvidersCommand,
  addKeysCommand,
  addPluginCommand,
  addConfigCommand,
  addDoctorCommand,
] as const
