"""The probes of the system, and how long each may take."""

from __future__ import annotations

from collections.abc import Mapping

from kprof.audit.probes import (
    driver,
    gpus,
    hardware,
    operating_system,
    privileges,
    services,
    surroundings,
)
from kprof.audit.probes.machine import Probe

_FILES_S = 5.0  # reads files alone; a network file system can hang
_COMMANDS_S = 6.0  # runs one or two short commands, each with a shorter limit of its own

# Probe -> seconds until the audit goes on without it. Those that talk to the driver have limits of
# their own inside, and need room for a second way after the first has failed.
SYSTEM: Mapping[Probe, float] = {
    operating_system.operating_system: _FILES_S,
    driver.kernel_modules: _COMMANDS_S,
    driver.kernel_driver: _FILES_S,
    driver.kernel_log: _COMMANDS_S,
    hardware.pci: _COMMANDS_S,
    hardware.device_nodes: _FILES_S,
    gpus.nvml: gpus.NVML_S + 2 * gpus.SMI_S + 2,
    gpus.nvidia_smi: gpus.SMI_S + 2,
    gpus.libcuda: gpus.LIBCUDA_S + 3,
    privileges.privileges: _FILES_S,
    privileges.writable_places: _FILES_S,
    surroundings.environment: _FILES_S,
    surroundings.container_runtime: _FILES_S,
    services.services: _COMMANDS_S,
}
