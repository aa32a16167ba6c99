#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenMM: its installation test, which compares the forces that all its platforms compute for a
protein in water, and a simulation of that protein (villin) in implicit solvent. Its wheel comes from
the package index.

usage: openmm_check.py FOLDER LEAST_SPLIT [alone]      keeps the wheel in FOLDER
    alone: energies must be exactly those of the vendor's driver without Tutti, as on one device
"""

import json
import re
import sys
import tempfile
from pathlib import Path

import package_index
import split_report

VERSION = "8.6.1"
WHEELS = {  # by interpreter: Debian 12's, Debian 13's
    "cp311": "e0a6ec580be31d4afba35f290c27c069aaeea9a168b0cf959a0dac0df1d9fd5d",
    "cp313": "b6295b1cfe63eac11c013cda90b9988fd74a1ec863522a1480affdaed3f20d7a",
}

# What its installation test allows between two platforms.
TOLERANCE = 1e-4
# The part of the kinetic energy by which the sum of energies may vary at this step of half a
# femtosecond. Its first value does not count: velocities are those of half a step before.
DRIFT = 5e-3

CHILD = """
import json
import os
import sys
import numpy
import openmm
from openmm import app, testInstallation

alone = sys.argv[1:] == ["alone"]
if not alone:
    testInstallation.run_tests()
pdb = app.PDBFile(os.path.join(os.path.dirname(app.__file__), "data", "test.pdb"))
protein = app.Modeller(pdb.topology, pdb.positions)
protein.delete([residue for residue in protein.topology.residues()
                if residue.name in ("HOH", "CL", "Cl")])
system = app.ForceField("amber14-all.xml", "implicit/obc2.xml").createSystem(
    protein.topology, nonbondedMethod=app.NoCutoff, constraints=app.HBonds)
energies, forces = {}, {}
for name, rounds in (("Reference", 1), ("OpenCL", 5))[alone:]:  # the reference is slow
    integrator = openmm.VerletIntegrator(0.0005)
    context = openmm.Context(system, integrator, openmm.Platform.getPlatformByName(name))
    context.setPositions(protein.positions)
    context.applyConstraints(1e-6)
    forces[name] = context.getState(forces=True).getForces(asNumpy=True)._value
    reference = forces.setdefault("Reference", forces[name])
    energies[name] = []
    for _ in range(rounds):
        integrator.step(20)
        state = context.getState(energy=True)
        energies[name].append((state.getPotentialEnergy()._value, state.getKineticEnergy()._value))
apart = numpy.linalg.norm(forces["OpenCL"] - reference, axis=1) / numpy.linalg.norm(reference, axis=1)
print("simulation:", json.dumps({"atoms": protein.topology.getNumAtoms(), "energies": energies,
                                 "forces": float(numpy.median(apart))}))
"""


def simulated(text):
    return json.loads(re.search(r"^simulation: (.*)$", text, re.MULTILINE)[1])


def check(text):
    """What the simulation computed, once it and the installation test are right."""
    platforms = re.findall(r"^\d+ (\w+)(?: WARNING[^\n]*\n(?:.*\n)*?)? ?- Successfully computed", text,
                           re.MULTILINE)
    print(text[:text.index("simulation:")].strip())
    if not {"Reference", "CPU", "OpenCL"} <= set(platforms):
        sys.exit(f"of OpenMM's platforms only these computed forces: {', '.join(platforms)}")
    if "All differences are within tolerance." not in text:
        sys.exit("forces differ between OpenMM's platforms")
    found = simulated(text)
    energies = found["energies"]
    for seen, expected in zip(energies["OpenCL"][0], energies["Reference"][0]):
        if abs(seen - expected) > TOLERANCE * abs(expected):
            sys.exit(f"an energy of {seen} kJ/mol, where its reference has {expected}")
    if found["forces"] > TOLERANCE:
        sys.exit(f"forces differ by {found['forces']:.1e} of the reference's (median)")
    sums = [sum(pair) for pair in energies["OpenCL"]]
    kinetic = min(pair[1] for pair in energies["OpenCL"])
    if max(sums) - min(sums) > DRIFT * kinetic:
        sys.exit(f"energy is not conserved: {sums}")
    print(f"{found['atoms']} atoms: forces within {found['forces']:.1e}, energies "
          f"{energies['OpenCL'][0]} (reference {energies['Reference'][0]}), their sum within "
          f"{(max(sums) - min(sums)) / kinetic:.1e} of the kinetic one")
    return found


def main():
    tag = package_index.python_tag()
    wheel = package_index.fetch(Path(sys.argv[1]), "openmm",
                                f"openmm-{VERSION}-{tag}-{tag}-manylinux_2_34_x86_64.whl",
                                package_index.known(WHEELS, tag))
    with tempfile.TemporaryDirectory() as folder:
        package_index.unpack_wheel(wheel, folder)
        command = [sys.executable, "-B", "-c", CHILD]
        environment = {"PYTHONPATH": folder}
        text, entries = split_report.run(command, environment=environment)
        found = check(text)
        if sys.argv[3:] == ["alone"]:
            alone = simulated(split_report.run_natively([*command, "alone"], environment=environment))
            if found["energies"]["OpenCL"] != alone["energies"]["OpenCL"]:
                sys.exit("not the energies that the vendor's driver gives without Tutti")
            print("exactly the energies that the vendor's driver gives without Tutti")
    kernels = split_report.Kernels()
    kernels.add(entries)
    kernels.check(int(sys.argv[2]))


if __name__ == "__main__":
    main()
